"""A shared library + sonames that nobody here has → stub libraries that define what it wants from them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

_TEXTS = ("_string", "_name")
"""Functions that end so return a text; all others a status, where 0 means success."""


def build_stubs(library_path: Path, prefix: str, sonames: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Make one library a soname; the shortest soname gets every undefined function whose name starts with `prefix`."""
    symbols = [name for name in _undefined_symbols(library_path) if name.startswith(prefix)]
    holder = min(sonames, key=len)
    for soname in sonames:
        source = "".join(_define(name) for name in symbols) if soname == holder else "typedef int nothing_here;\n"
        _compile(source, soname, folder / soname)
    return tuple(symbols)


def _undefined_symbols(library_path: Path) -> Iterable[str]:
    command = ["nm", "--dynamic", "--undefined-only", "--format=posix", str(library_path)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sorted(re.findall(r"^(\w+) U", listing, re.MULTILINE))


def _define(name: str) -> str:
    if name.endswith(_TEXTS):
        return f'const char *{name}(void) {{ return "stub of rockiln\'s tests"; }}\n'
    return f"int {name}(void) {{ return 0; }}\n"


def _compile(source: str, soname: str, output_path: Path) -> None:
    command = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", str(output_path), "-x", "c", "-"]
    subprocess.run(command, input=source, text=True, check=True)
