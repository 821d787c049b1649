"""One module a base op: Triton source. Imported only where a pack is built."""
