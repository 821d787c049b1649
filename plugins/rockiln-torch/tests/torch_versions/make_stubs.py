"""A torch wheel without its CUDA libraries → stub libraries in torch/lib, so that it imports and runs on a CPU.

Every function of a stub returns 1, an error in each of these libraries. Needs gcc, and nm and readelf of binutils.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

PREFIXES = {"nccl": "libnccl.so.2", "cudnn": "libcudnn.so.9", "cusparseLt": "libcusparseLt.so.0"}
"""Libraries whose symbols carry no version: how their functions begin."""
KEPT = frozenset({"libcuda.so.1", "libnvrtc.so.12"})
"""Opened when a GPU is used, and not before."""


def list_missing(folder: Path) -> tuple[str, ...]:
    """Sonames that the libraries in torch/lib need and that the loader does not find."""
    found: set[str] = set()
    for library in sorted(folder.glob("*.so")):
        text = subprocess.run(["ldd", str(library)], capture_output=True, text=True, check=False).stdout
        found |= set(re.findall(r"^\s*(\S+) => not found", text, re.MULTILINE))
    return tuple(sorted(found - KEPT))


def list_wanted(folder: Path, missing: Iterable[str]) -> Mapping[str, tuple[set[str], set[str]]]:
    """Soname → functions that torch takes of it with a version of that name, and without one."""
    wanted: dict[str, tuple[set[str], set[str]]] = {name: (set(), set()) for name in missing}
    for library in sorted(folder.glob("*.so")):
        command = ["nm", "-D", "--undefined-only", str(library)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for symbol in re.findall(r"^\s+[Uw] (\S+)", text, re.MULTILINE):
            name, _, version = symbol.partition("@")
            version = version.lstrip("@")
            if version in wanted:
                wanted[version][0].add(name)
            elif not version and (owner := _find_owner(name)) in wanted:
                wanted[owner][1].add(name)
    return wanted


def _find_owner(symbol: str) -> str:
    return next((soname for prefix, soname in PREFIXES.items() if symbol.startswith(prefix)), "")


def write_stub(folder: Path, soname: str, versioned: set[str], plain: set[str]) -> None:
    """Compile torch/lib/SONAME."""
    with tempfile.TemporaryDirectory() as scratch:
        source, script = Path(scratch, "stub.c"), Path(scratch, "stub.map")
        source.write_text("".join(f"int {name}(void) {{ return 1; }}\n" for name in sorted(versioned | plain)))
        script.write_text(f"{soname} {{ global: *; }};\n")
        flags = [f"-Wl,--version-script={script}"] if versioned else []
        output = folder / soname
        command = ["gcc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{soname}", *flags, "-o", str(output), str(source)]
        subprocess.run(command, check=True)


def make_stubs(folder: Path) -> tuple[str, ...]:
    """Write a stub for every library that is missing; their names."""
    missing = list_missing(folder)
    for soname, (versioned, plain) in list_wanted(folder, missing).items():
        write_stub(folder, soname, versioned, plain)
    return missing


if __name__ == "__main__":
    make_stubs(Path(sys.argv[1]))
