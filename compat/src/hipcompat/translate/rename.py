"""Bytes of a CUDA source → Renamed: the same file in HIP's names, and what could not be translated stands untouched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from hipcompat.facts import provided
from hipcompat.paths import AnyPath
from hipcompat.scan.detect.literals import find_runs
from hipcompat.scan.detect.unit import Unit, defines_itself, make_unit
from hipcompat.scan.lexer import lex
from hipcompat.scan.text import Text, is_binary, read_text
from hipcompat.translate.edit import Edit, apply_edits
from hipcompat.translate.names import find_hip_name, find_name_edits
from hipcompat.translate.overloads import find_overload_edits
from hipcompat.translate.warps import find_mask_edits

SOURCES = frozenset((".cu", ".hip"))
_RUNTIME = "#include <hip/hip_runtime.h>\n"
_HAS_RUNTIME = re.compile(r"#[ \t]*include[ \t]*<hip/hip_runtime\.h>")
_NEEDS_RUNTIME = re.compile(r"\bhip[A-Z]\w+|__global__|__device__|<<<|\bthreadIdx\b")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}", re.ASCII)
_IMPLICIT = {
    "assert.h": re.compile(r"(?<![\w.>:])assert\s*\("),
    "math.h": re.compile(r"(?<![\w.>:])is(?:finite|nan|inf)\s*\("),
    "string.h": re.compile(r"(?<![\w.>:])(?:mem(?:set|cpy|move|cmp)|str(?:len|n?cmp|n?cpy|n?cat|r?chr|str|dup))\s*\("),
}
"""What cuda_runtime.h includes, and calls that need it."""
_KERNEL_TEXT = re.compile(r"__global__|__device__")


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """`count` is the number of places that changed."""

    content: bytes
    count: int


def rename(content: bytes, path: AnyPath, *, strings: bool = False, renames_sources: bool = False) -> Renamed:
    """One file. `strings`: sources for NVRTC in string literals are translated, too.

    `renames_sources`: .cu files get the ending .hip elsewhere, so quoted includes of them follow. Binary content, and
    text in UTF-16 or UTF-32, comes back as it is.
    """
    text = read_text(content)
    if is_binary(content) or not _is_bytewise(content, text):
        return Renamed(content=content, count=0)
    mark = content[: len(content) - len(text.raw)]
    unit = make_unit(text.raw)
    suffix = PurePath(path).suffix
    edits = [*find_name_edits(unit, renames_sources=renames_sources), *find_mask_edits(unit)]
    if suffix != ".c":
        edits += find_overload_edits(unit)
    if strings:
        edits += _find_string_edits(unit)
    became = apply_edits(text.raw, _place(edits, unit))
    top = _list_missing_headers(unit, became) if suffix != ".c" else ""
    if suffix in SOURCES:
        top = (_RUNTIME if _lacks_runtime(became) else "") + _list_implicit_headers(unit) + top
    if top:
        became = (top.replace("\n", "\r\n") if text.raw.partition("\n")[0].endswith("\r") else top) + became
        edits.append(Edit(start=0, end=0, text=top))
    return Renamed(content=mark + became.encode("latin-1"), count=len(edits))


def find_obstacle(content: bytes, path: PurePath) -> str:
    """Why a file that has something to translate comes back as it is; nothing where it does not."""
    if is_binary(content):
        return "it is binary" if path.suffix.startswith(".cu") else ""
    text = read_text(content)
    if _is_bytewise(content, text) or not rename(text.raw.encode("latin-1"), path).count:
        return ""
    return "it is UTF-16 or UTF-32, which clang does not read; save it as UTF-8"


def _is_bytewise(content: bytes, text: Text) -> bool:
    """The text is in the file byte by byte, but for a mark before it."""
    return text.raw.encode("latin-1") in {content, content[3:]}


def _place(edits: Iterable[Edit], unit: Unit) -> Iterator[Edit]:
    """Offsets of the spliced text → of the file."""
    for edit in edits:
        end = unit.code.origin(edit.end - 1) + 1 if edit.end > edit.start else unit.code.origin(edit.start)
        yield replace(edit, start=unit.code.origin(edit.start), end=end)


def _lacks_runtime(raw: str) -> bool:
    code = lex(raw).code
    return bool(_NEEDS_RUNTIME.search(code)) and not _HAS_RUNTIME.search(code)


def _list_implicit_headers(unit: Unit) -> str:
    """Lines that include what nvcc brings by itself, and clang does not, where the file calls it."""
    included = {include.name for include in unit.includes}
    return "".join(
        f"#include <{header}>\n"
        for header, names in _IMPLICIT.items()
        if not included & {header, f"c{header[:-2]}"} and names.search(unit.text)
    )


def _list_missing_headers(unit: Unit, became: str) -> str:
    """Lines that include what only hipcompat's headers have: names that HIP lacks, and types that it lacks on a GPU."""
    names = {match.group() for match in _IDENTIFIER.finditer(unit.text)}
    named = {name for name in names if name in provided.PROVIDED and not find_hip_name(name)}
    used = {provided.PROVIDED[name] for name in named if not defines_itself(unit, name)} & provided.STANDALONE
    used |= {provided.BEFORE[include.name] for include in unit.includes if include.name in provided.BEFORE}
    return "".join(f"#include <{header}>\n" for header in sorted(used) if f"<{header}>" not in became)


def _find_string_edits(unit: Unit) -> Iterator[Edit]:
    """Names, and calls with masks, in the literals, and runs of them, that hold device code."""
    for start, _, body in find_runs(unit):
        if not _KERNEL_TEXT.search(body):
            continue
        for match in _IDENTIFIER.finditer(body):
            if hip := find_hip_name(match.group()):
                yield Edit(start=start + match.start(), end=start + match.end(), text=hip)
        inner = make_unit(body)
        for edit in _place(find_mask_edits(inner), inner):
            first, last = start + edit.start, start + edit.end
            if unit.code.text[first:last] == body[edit.start : edit.end]:  # no quotes of two literals are written over
                yield replace(edit, start=first, end=last)
