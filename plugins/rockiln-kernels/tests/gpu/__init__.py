"""The kernels on an NVIDIA GPU, where there is one: right or wrong, how fast. `nox -s gpu`; untested on hardware."""
