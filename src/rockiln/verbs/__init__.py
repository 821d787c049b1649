"""Verbs of the command line: one module each; the table is in verbs/table.py."""
