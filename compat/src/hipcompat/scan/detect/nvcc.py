"""A word of a command line → whether it is a flag that nvcc knows and clang refuses."""

from __future__ import annotations

import re

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
