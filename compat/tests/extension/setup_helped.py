"""The same with hipcompat's helper."""

from setuptools import setup

from hipcompat.setuptools_extension import BuildExtension, CUDAExtension

FLAGS = ["-O3", "-gencode", "arch=compute_80,code=sm_80", "--use_fast_math", "-Xcompiler", "-fPIC"]

SOURCES = ["csrc/normalize.cu", "csrc/bind.cpp"]

setup(
    name="normalize", version="1.0",
    ext_modules=[CUDAExtension("normalize", SOURCES, extra_compile_args={"nvcc": FLAGS, "cxx": ["-O2"]})],
    cmdclass={"build_ext": BuildExtension},
)
