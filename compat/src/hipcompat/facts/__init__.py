"""A CUDA name → what HIP calls it, with source and version; the table is made by hipcompat.facts.generate."""

from hipcompat.facts.table import SOURCES, Fact, count_facts, lookup, read_facts

__all__ = ["SOURCES", "Fact", "count_facts", "lookup", "read_facts"]
