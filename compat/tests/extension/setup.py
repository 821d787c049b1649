"""A CUDA extension as many are: nvcc from CUDA_HOME, its flags, and the CUDA runtime."""

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CUDA_HOME = os.environ.get("CUDA_HOME", "/usr/local/cuda")
NVCC = os.environ.get("NVCC") or shutil.which("nvcc") or f"{CUDA_HOME}/bin/nvcc"
FLAGS = ["-O3", "-gencode", "arch=compute_80,code=sm_80", "--use_fast_math", "-Xcompiler", "-fPIC"]


class BuildWithNvcc(build_ext):
    def build_extension(self, ext):
        flags = os.environ["NVCC_FLAGS"].split() if "NVCC_FLAGS" in os.environ else FLAGS
        output = self.get_ext_fullpath(ext.name)
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        includes = [f"-I{folder}" for folder in self.include_dirs]
        subprocess.run([NVCC, *flags, *includes, "-shared", *ext.sources, "-o", output], check=True)


setup(
    name="normalize", version="1.0",
    ext_modules=[Extension("normalize", ["csrc/normalize.cu", "csrc/bind.cpp"])],
    cmdclass={"build_ext": BuildWithNvcc},
)
