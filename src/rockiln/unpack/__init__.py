"""Debs and wheels → Unpacked: taken apart as data, never executed, never written by name."""
