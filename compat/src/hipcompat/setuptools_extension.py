"""CUDA sources in a setup.py without torch → an extension module for AMD's GPUs, by setuptools and HIP's clang.

    from hipcompat.setuptools_extension import BuildExtension, CUDAExtension

    setup(
        ext_modules=[CUDAExtension("saxpy", ["saxpy.cu", "bind.cpp"], extra_compile_args={"nvcc": ["-use_fast_math"]})],
        cmdclass={"build_ext": BuildExtension},
    )

The source stays as it is, under hipcompat's headers. HIPCOMPAT_ARCHS or PYTORCH_ROCM_ARCH names the GPUs, such as
"gfx942;gfx1100".
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from setuptools import Extension
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

from hipcompat import archs
from hipcompat.check import Toolchain, find_toolchain
from hipcompat.console import printable
from hipcompat.errors import CompatError, UsageError
from hipcompat.flags import Translation, translate_flags
from hipcompat.paths import AnyPaths, list_paths
from hipcompat.translate.shim import SHIM_PATH, shim_arguments

_CUDA = frozenset({".cu", ".hip"})
_ARCHS = ("HIPCOMPAT_ARCHS", "PYTORCH_ROCM_ARCH")


class HipExtension(Extension):
    """setuptools' Extension, and nvcc's flags as clang takes them."""

    hip_arguments: tuple[str, ...] = ()
    flags_fault: str = ""
    """Why nvcc's flags cannot be translated: what builds the extension raises it, and setuptools shows one line."""


def CUDAExtension(  # noqa: N802  # what code for torch calls it
    name: str,
    sources: AnyPaths,
    *,
    extra_compile_args: Mapping[str, Sequence[str]] | Sequence[str] = (),
    include_dirs: AnyPaths = (),
    define_macros: Sequence[tuple[str, str | None]] = (),
    extra_link_args: Sequence[str] = (),
    libraries: Sequence[str] = (),
) -> HipExtension:
    """As torch's: `extra_compile_args` is a list for all sources, or {"cxx": [...], "nvcc": [...]}.

    Where one of nvcc's flags asks for what ROCm has not, or lacks its value, building says so and stops. What was
    dropped is said on stderr.
    """
    given = extra_compile_args
    by_compiler = given if isinstance(given, Mapping) else {"cxx": given, "nvcc": given}
    translation, fault = _translate(list(by_compiler.get("nvcc", ())))
    for note in translation.notes:
        sys.stderr.write(printable(f"hipcompat: {note.explain()}") + "\n")
    extension = HipExtension(
        name, list(map(str, list_paths(sources))),
        include_dirs=list(map(str, list_paths(include_dirs))), define_macros=list(define_macros),
        libraries=list(libraries), extra_compile_args=list(by_compiler.get("cxx", ())),
        extra_link_args=list(extra_link_args), language="c++",
    )  # fmt: skip
    extension.hip_arguments = translation.arguments
    extension.flags_fault = fault
    return extension


def _translate(flags: Sequence[str]) -> tuple[Translation, str]:
    """And what is wrong with them."""
    try:
        translation = translate_flags(flags)
    except UsageError as error:
        return Translation(arguments=(), notes=()), f"{error.message} ({error.hint})"
    return translation, translation.explain_refused()


class BuildExtension(build_ext):
    """build_ext that gives a HipExtension to HIP's clang, and any other to setuptools."""

    def build_extension(self, ext: Extension) -> None:
        """CompileError, which setuptools shows in one line, where something is missing or does not compile."""
        if not isinstance(ext, HipExtension):
            super().build_extension(ext)
            return
        if ext.flags_fault:
            raise CompileError(ext.flags_fault)
        try:
            self._build_hip(ext)
        except CompatError as fault:
            raise CompileError(f"{fault.message} ({fault.hint})") from fault

    def _build_hip(self, ext: HipExtension) -> None:
        """Compile each source, link."""
        toolchain, names = find_toolchain(os.environ), read_archs(os.environ)
        folder = Path(self.build_temp)
        objects = []
        for source in map(Path, ext.sources):
            target = folder / f"{'_'.join(source.with_suffix('').parts)}.o"
            target.parent.mkdir(parents=True, exist_ok=True)
            _call([*self._make_compile_command(ext, source, toolchain, names), "-c", str(source), "-o", str(target)])
            objects.append(str(target))
        path = Path(self.get_ext_fullpath(ext.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        _call([*make_link_command(toolchain, objects, ext), "-o", str(path)])

    def _make_compile_command(
        self, ext: HipExtension, source: Path, toolchain: Toolchain, names: Sequence[str]
    ) -> list[str]:
        includes = (*ext.include_dirs, str(source.parent), *self.include_dirs)
        defines = [f"-D{name}" + ("" if value is None else f"={value}") for name, value in ext.define_macros]
        common = ["-fPIC", *defines, *(f"-I{folder}" for folder in includes)]
        clang = [str(toolchain.clang_path), "--driver-mode=g++"]
        if source.suffix not in _CUDA:
            return [*clang, f"-I{SHIM_PATH}", f"-I{toolchain.rocm_path / 'include'}", *common, *ext.extra_compile_args]
        libraries = toolchain.device_libs_path
        if libraries is None:
            raise CompatError(
                f"no device libraries (ockl.bc) below {toolchain.rocm_path}", hint="install ROCm's rocm-device-libs"
            )
        return [
            *clang, *shim_arguments(), "-x", "hip", *(f"--offload-arch={arch}" for arch in names),
            f"--rocm-path={toolchain.rocm_path}", f"--rocm-device-lib-path={libraries}",
            f"-I{toolchain.rocm_path / 'include'}", *common, *ext.hip_arguments,
        ]  # fmt: skip


def make_link_command(toolchain: Toolchain, objects: Sequence[str], ext: Extension) -> list[str]:
    """Without the output: HIP's runtime is the one library that every extension needs."""
    libraries = [f"-l{name}" for name in (*ext.libraries, "amdhip64")]
    folders = [f"-L{toolchain.rocm_path / 'lib'}", *(f"-L{folder}" for folder in ext.library_dirs)]
    clang = [str(toolchain.clang_path), "--driver-mode=g++", "-shared"]
    return [*clang, *objects, *folders, *libraries, *ext.extra_link_args]


def read_archs(environment: Mapping[str, str]) -> tuple[str, ...]:
    """LLVM's names, from the first variable that is set. UsageError for others, and for none: no GPU is guessed."""
    text = next((environment[name] for name in _ARCHS if environment.get(name)), "")
    found = archs.read_archs([text] if text else [], default="")
    if not found:
        raise UsageError("for which GPUs? nothing says it", hint=f'{_ARCHS[0]}="gfx942;gfx1100"')
    return found


def _call(command: Sequence[str]) -> None:
    """Run the compiler; its own messages are the explanation."""
    sys.stdout.write(printable(shlex.join(command)) + "\n")
    sys.stdout.flush()
    done = subprocess.run(command, check=False)
    if done.returncode:
        name = Path(command[0]).name
        raise CompatError(f"{name} ended with {done.returncode}", hint="hipcompat scan says what to do")
