"""C and HIP sources → ELF libraries with real fat binaries, code objects and programs, by clang and lld."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

SOURCES_PATH = Path(__file__).parent / "sources"
ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
HOST_FLAGS = ("-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-ffile-prefix-map=" + str(SOURCES_PATH) + "=.")
HIP_FLAGS = (
    "-x", "hip", "-nogpuinc", "-nogpulib", "-mcode-object-version=6", "-fuse-cuid=none",
    "-Wno-unused-command-line-argument",
)  # fmt: skip

Encoding = Literal["none", "raw", "ccob-v2", "ccob-v3"]
"""How a library's device code is packed: not at all, raw bundles, or compressed ones of either known version."""


class MissingToolError(Exception):
    """The machine lacks a program that the mirror is made with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """One shared library to make."""

    soname: str
    encoding: Encoding = "none"
    needed: Sequence[Path] = field(default=())
    """Libraries to link with; they become NEEDED by their SONAME."""

    @property
    def symbol(self) -> str:
        """Prefix of its functions: librocblas.so.5 → rocblas."""
        return re.sub(r"\W", "_", self.soname.split(".so")[0].removeprefix("lib"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    clang: str
    linker: str

    def build_library(self, library: Library, output_path: Path, version: int = 70002) -> None:
        """Compile and link one library; only `output_path` stays."""
        object_path = output_path.with_suffix(".o")
        defines = (f"-DLIBRARY={library.symbol}", f"-DVERSION={version}")
        if library.encoding == "none":
            self._run(*HOST_FLAGS, *defines, "-c", SOURCES_PATH / "library.c", "-o", object_path)
        else:
            self._compile_hip(library.encoding, (*HOST_FLAGS, *defines), object_path)
        self._link(object_path, library, output_path)

    def build_runtime(self, output_path: Path) -> None:
        """libamdhip64.so.7, whose symbols carry the version that AMD's carry."""
        object_path = output_path.with_suffix(".o")
        self._run(*HOST_FLAGS, "-c", SOURCES_PATH / "hip_runtime.c", "-o", object_path)
        script = f"-Wl,--version-script={SOURCES_PATH / 'hip_runtime.map'}"
        self._link(object_path, Library(soname="libamdhip64.so.7"), output_path, script)

    def build_program(self, name: str, output_path: Path) -> None:
        """A program that prints what it is."""
        self._run("-O2", f'-DNAME="{name}"', f"-fuse-ld={self.linker}", SOURCES_PATH / "program.c", "-o", output_path)

    def build_code_object(self, arch: str, output_path: Path) -> None:
        """A bare code object of one arch, as Tensile's .hsaco files are."""
        flags = ("-O2", "--offload-device-only", "--no-gpu-bundle-output", f"--offload-arch={arch}")
        defines = ("-DLIBRARY=tensile", "-DVERSION=70002")
        self._run(*HIP_FLAGS, *flags, *defines, SOURCES_PATH / "kernels.hip", "-o", output_path)

    def build_bitcode(self, output_path: Path) -> None:
        """LLVM bitcode for amdgcn, as rocm-device-libs holds it."""
        flags = ("--target=amdgcn-amd-amdhsa", "-nogpulib", "-emit-llvm", "-O2", "-c")
        self._run(*flags, SOURCES_PATH / "device_library.c", "-o", output_path)

    def _compile_hip(self, encoding: Encoding, flags: Sequence[str], output_path: Path) -> None:
        archs = tuple(f"--offload-arch={arch}" for arch in ARCHS)
        packing = ("--offload-compress",) if encoding.startswith("ccob") else ()
        environ = {"COMPRESSED_BUNDLE_FORMAT_VERSION": encoding[-1]} if packing else {}
        self._run(
            *flags, *HIP_FLAGS, *archs, *packing, "-c", SOURCES_PATH / "kernels.hip", "-o", output_path, environ=environ
        )

    def _link(self, object_path: Path, library: Library, output_path: Path, *flags: str) -> None:
        self._run(
            "-shared", f"-fuse-ld={self.linker}", f"-Wl,-soname,{library.soname}", "-Wl,-rpath,$ORIGIN",
            "-Wl,--build-id", *flags, object_path, *library.needed, "-o", output_path,
        )  # fmt: skip
        object_path.unlink()

    def _run(self, *arguments: str | Path, environ: Mapping[str, str] | None = None) -> None:
        command = [self.clang, *map(str, arguments)]
        subprocess.run(command, check=True, env={**os.environ, **(environ or {})})


def find_compiler() -> Compiler:
    """A clang that knows every arch of ARCHS, with its lld."""
    for version in ("", "-25", "-24", "-23", "-22", "-21", "-20"):
        clang, linker = shutil.which(f"clang{version}"), shutil.which(f"ld.lld{version}")
        if clang and linker and _knows_archs(clang):
            return Compiler(clang=clang, linker=linker)
    raise MissingToolError("no clang that knows gfx950, with lld, is here: apt-get install clang-22 lld-22")


def _knows_archs(clang: str) -> bool:
    command = [clang, "--target=amdgcn-amd-amdhsa", "-print-supported-cpus"]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    return set(ARCHS) <= set((listing.stdout + listing.stderr).split())
