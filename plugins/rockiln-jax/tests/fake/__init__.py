"""JAX's CPU as a GPU: the handler of the wheel over a fake HIP, whose kernels run in gfxemu."""
