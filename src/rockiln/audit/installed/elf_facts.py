"""An ELF file → ElfFacts: what glibc's loader would read of it. Nothing is executed, and no section table is needed.

Formats: https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.dynamic.html and
https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from rockiln.audit.installed.elf_symbols import Symbols, Versions, read_symbols, read_versions

MAGIC = b"\x7fELF"
_NAME = re.compile(rb"(?<![\w.+/-])(lib[A-Za-z0-9_+-]+\.so(?:\.[0-9]+)*)\0")
_OPENERS = frozenset({b"dlopen", b"dlmopen"})
_TEXT_SECTIONS = (".rodata", ".rodata.str1.1", ".rodata.str1.8", ".data.rel.ro.local")
_MAX_TEXT_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ElfFacts:
    """One program or library. Symbol names are bytes, NUL-joined: sets of them would be five times as large."""

    is_program: bool
    """It has an interpreter and is run, not loaded."""
    interpreter: str
    soname: str
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    defined: bytes
    undefined: bytes
    """Without weak ones."""
    version_needs: tuple[tuple[str, str], ...]
    """(soname, version), without weak ones: the loader refuses the file where the library lacks the version."""
    versions: tuple[str, ...]
    """What it defines."""
    opens: tuple[str, ...]
    """Names that look like libraries among its constants, if it calls dlopen; none of those in `needed`."""


def read_elf_facts(file: BinaryIO) -> ElfFacts | None:
    """The facts; None for what glibc on x86-64 would not load or run. Raises ValueError for a damaged file."""
    try:
        elf = ELFFile(file)
        if elf.header["e_machine"] != "EM_X86_64" or elf.header["e_type"] not in {"ET_DYN", "ET_EXEC"}:
            return None
        dynamic = next((one for one in elf.iter_segments() if isinstance(one, DynamicSegment)), None)
        if dynamic is None or elf.elfclass != 64:
            return None
        return _read_dynamic(elf, dynamic)
    except (ELFError, ConstructError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as fault:
        raise ValueError(f"not readable as ELF: {fault!r}") from fault


def _read_dynamic(elf: ELFFile, dynamic: DynamicSegment) -> ElfFacts | None:
    tags: list[tuple[str, Any]] = [(tag.entry.d_tag, tag) for tag in dynamic.iter_tags()]
    if not any(kind == "DT_SYMTAB" for kind, _ in tags):
        return None  # debug symbols of a file that is elsewhere
    needed = tuple(tag.needed for kind, tag in tags if kind == "DT_NEEDED")
    symbols = read_symbols(elf, dynamic)
    versions = read_versions(elf, dynamic)
    interpreter = next((one.get_interp_name() for one in elf.iter_segments() if isinstance(one, InterpSegment)), "")
    return ElfFacts(
        is_program=bool(interpreter) and not any(kind == "DT_SONAME" for kind, _ in tags),
        interpreter=interpreter,
        soname=next((tag.soname for kind, tag in tags if kind == "DT_SONAME"), ""),
        needed=needed,
        rpath=_split_paths(tag.rpath for kind, tag in tags if kind == "DT_RPATH"),
        runpath=_split_paths(tag.runpath for kind, tag in tags if kind == "DT_RUNPATH"),
        defined=symbols.defined, undefined=symbols.undefined,
        version_needs=versions.needs, versions=versions.defined,
        opens=_find_opened(elf, symbols, versions, frozenset(needed)),
    )  # fmt: skip


def _split_paths(texts: Iterator[str]) -> tuple[str, ...]:
    """An empty text is ignored, as glibc does; an empty part of one stands for the working directory."""
    return tuple(path for text in texts if text for path in text.split(":"))


def _find_opened(elf: ELFFile, symbols: Symbols, versions: Versions, needed: frozenset[str]) -> tuple[str, ...]:
    """A heuristic: constants of the form libNAME.so[.N] in a file that calls dlopen."""
    if not _OPENERS & set(symbols.undefined.split(b"\0")):
        return ()
    known = needed | {soname for soname, _ in versions.needs}
    found: set[str] = set()
    for name in _TEXT_SECTIONS:
        section = elf.get_section_by_name(name)
        if section is not None and section["sh_type"] != "SHT_NOBITS" and section["sh_size"] <= _MAX_TEXT_BYTES:
            found |= {match.decode("ascii") for match in _NAME.findall(section.data())}
    return tuple(sorted(found - known))
