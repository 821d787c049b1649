"""ELF files with AMD device code → the same files without code for GPUs that nobody asked for. See docs/fatbin.md."""
