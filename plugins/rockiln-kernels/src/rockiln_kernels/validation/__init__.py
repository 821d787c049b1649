"""A pack on a real GPU → a hardware record: each variant's outputs against the float64 reference, and its time."""
