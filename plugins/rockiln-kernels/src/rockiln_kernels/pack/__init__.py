"""Variants → packs: compile, read back, lint, describe."""
