"""A tree of libraries → what binutils and the loader say of each: names it defines and wants, and who is found."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

_TAGS = re.compile(r"\((NEEDED|SONAME|RPATH|RUNPATH|FLAGS(?:_1)?)\)\s+(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """What others see of a library, and what it sees of others."""

    symbols: tuple[str, ...]
    """Name@VERSION and type, as nm tells them: U and w are undefined."""
    tags: tuple[tuple[str, str], ...]
    found: tuple[str, ...]
    """The loader's own list of libraries, with where they are, or "not found"."""


def read_tree(root: Path, loader: Path, search: str) -> dict[str, Linked]:
    """Path in the tree → what is linked, for every ELF file of this machine's kind; `search` names folders in it."""
    library_path = ":".join(str(root / folder) for folder in search.split(":"))
    return {str(path.relative_to(root)): _read(path, root, loader, library_path) for path in _libraries(root)}


def _libraries(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                head = file.read(20)
            if head[:5] == b"\x7fELF\x02" and head[16:20] == b"\x03\0\x3e\0":
                yield path


def _read(path: Path, root: Path, loader: Path, library_path: str) -> Linked:
    names = _lines("nm", "--dynamic", "--with-symbol-versions", "--format=posix", str(path))
    listed = _lines(str(loader), "--library-path", library_path, "--list", str(path))
    return Linked(
        symbols=tuple(sorted(" ".join(line.split()[:2]) for line in names)),
        tags=tuple(_TAGS.findall("\n".join(_lines("readelf", "--dynamic", "--wide", str(path))))),
        found=tuple(sorted(re.sub(r" \(0x.*", "", line).strip().replace(f"{root}/", "") for line in listed)),
    )


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def wrapper_slots(path: Path) -> tuple[str, ...]:
    """Addresses, in hex, of the pointers by which a library leads to its bundles."""
    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".hipFatBinSegment")
        if section is None:
            return ()
        start, size_bytes = section["sh_addr"], section["sh_size"]
    return tuple(f"{address + 8:x}" for address in range(start, start + size_bytes, 24))
