"""TensorFlow's CPU as a GPU: kernels of the same ops over a fake HIP, whose code runs in gfxemu."""
