"""Bringing one artifact from its places into the store: attempts, waits, resumed parts, and what went wrong."""
