"""Runs compiled kernels in gfxemu and holds them against the float64 references. Used by every op's tests."""
