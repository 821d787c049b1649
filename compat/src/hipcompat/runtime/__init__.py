"""A process → opt-in help for CUDA-minded Python: pynvml over amdsmi, helpers by arch, HIP's errors as exceptions."""
