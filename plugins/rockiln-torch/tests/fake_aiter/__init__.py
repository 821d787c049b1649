"""A stand-in for AITER, which needs an AMD GPU: real signatures of two commits, made-up bodies in plain torch."""
