"""A word of a command line → whether it is a flag that nvcc knows and clang refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipcompat.flags.table import BY_NAME

_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_CLANG_KNOWS = frozenset((
    "-o", "-include", "-l", "-D", "-U", "-I", "-isystem", "-L", "-MF", "-MT", "-MP", "-c", "-E", "-M", "-MM",
    "-MD", "-MMD",
    "-pg", "-g", "-O", "-shared", "-x", "-std", "--std", "-m", "-m64", "-r", "-v", "-w", "-Xlinker",
    "-save-temps", "--save-temps",
    "--verbose", "--help", "--version", "-V", "-h", "-e", "-t", "-Wno-deprecated-declarations", "-Wreorder", "-Werror",
    "--Werror", "-frandom-seed", "-ftemplate-depth", "-G", "-code", "--compile", "--debug", "--optimize",
    "--define-macro",
    "--include-path", "--library", "--shared", "--preprocess", "-lib", "-link", "-run", "-time", "--time",
    "-dc", "-lineinfo",
    "-keep", "-use_fast_math", "-cuda", "-Xcompiler", "-arch", "-fmad",
))  # fmt: skip
"""Flags with a meaning of clang's own, and those that it ignores in silence."""


def is_unknown_to_clang(word: str) -> bool:
    """--expt-relaxed-constexpr, -gencode=..., --threads 4."""
    match = _FLAG.match(word)
    return match is not None and match[0] in BY_NAME and match[0] not in _CLANG_KNOWS


_WORD = re.compile(r"\S+")
_GPU = re.compile(r"(?:sm|compute|lto)_(?:\d{2,3}[af]?\b|%|\{|$)")
_GPU_OPTION = re.compile(r"\s*--?(?:gpu-architecture|gpu-arch|gpu-code|generate-code|gencode|arch|code)(?:[=\s]|$)")


def find_flags(text: str) -> Iterator[tuple[int, str]]:
    """Of a string that begins with a flag, each word that clang does not know, and where it begins."""
    if text.startswith("-"):
        for match in _WORD.finditer(text):
            if is_unknown_to_clang(match.group()):
                yield match.start(), match.group()


def names_gpu(text: str) -> bool:
    """--gpu-architecture=compute_80, -arch=sm_%d%d: an option of nvcc or NVRTC with a GPU of NVIDIA's."""
    return _GPU_OPTION.match(text) is not None and _GPU.search(text) is not None


def is_gpu(text: str) -> bool:
    """sm_80, compute_90a, by itself."""
    return _GPU.match(text) is not None


def is_gpu_option(text: str) -> bool:
    """An option after which a GPU is named."""
    return _GPU_OPTION.match(text) is not None
