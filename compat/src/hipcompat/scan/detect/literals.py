"""Unit → hits in string literals: options for NVRTC that name a GPU, and kernels, which are read like files."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator

from hipcompat.scan.detect.assembly import read_literal
from hipcompat.scan.detect.nvcc import is_gpu, is_gpu_option, names_gpu
from hipcompat.scan.detect.unit import Unit, make_unit
from hipcompat.scan.rule import Hit, Hits

Reader = Callable[[Unit], tuple[tuple[Hit, ...], Counter[str]]]
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_HELD = {"n": " \n", '"': ' "', "\\": " \\", "'": " '"}
_PREFIX = re.compile(r"\s*(?:u8|[uUL])?R?\s*$")
_KERNEL = "__global__"
LIBRARY_FILE = re.compile(
    r"(?:lib(?:cudart|cuda|nvrtc|cublas|cublasLt|cudnn|nvidia-ml|cusparse|cusolver|curand|cufft|nccl)\.so[\d.]*|nvcuda\.dll)$"
)
_LOADS = re.compile(r"\b(?:cu|hip)(?:Module(?:Load|LoadData\w*)|LibraryLoadFromFile|LinkAddFile\w*)\b")
PTX_FILE = re.compile(r"[^\s\"']{0,200}\.(?:ptx|cubin)$")


def find_option_hits(unit: Unit) -> Hits:
    """--gpu-architecture=compute_80; also as two literals, one after the other."""
    text = unit.code.text
    if "compute_" not in text and "sm_" not in text:
        return
    before = ""
    for start, end in _list_live(unit):
        held = text[start + 1 : end - 1]
        if names_gpu(held) or (is_gpu(held) and is_gpu_option(before)):
            yield Hit(rule="nvrtc-option", start=start, end=end, detail=held[:80])
        before = held


def find_file_hits(unit: Unit) -> Hits:
    """A library of CUDA that is opened by its name; a file of PTX, where the code loads modules."""
    text = unit.code.text
    has_library = ".so" in text or ".dll" in text
    loads = (".ptx" in text or ".cubin" in text) and _LOADS.search(unit.text) is not None
    if not has_library and not loads:
        return
    for start, end in _list_live(unit):
        held = text[start + 1 : end - 1]
        if has_library and LIBRARY_FILE.match(held):
            yield Hit(rule="cuda-library-name", start=start, end=end, detail=held)
        elif loads and PTX_FILE.match(held):
            yield Hit(rule="ptx-load", start=start, end=end, detail=held[:80])


def read_kernel_strings(unit: Unit, read: Reader, renamed: Counter[str]) -> Hits:
    """Each literal, or run of literals, with a kernel in it: a note, and what `read` finds in its text."""
    if _KERNEL not in unit.code.text:
        return
    for start, end, text in find_runs(unit):
        if _KERNEL in text:
            yield Hit(rule="kernel-string", start=start, end=min(end, start + 80))
            inner = make_unit(text)
            hits, names = read(inner)
            renamed.update(names)
            for hit in hits:
                first, last = (start + inner.code.origin(offset) for offset in (hit.start, hit.end))
                yield dataclasses.replace(hit, start=first, end=last)


def find_runs(unit: Unit) -> Iterator[tuple[int, int, str]]:
    """Literals that stand side by side, as one text of the same length: quotes and escapes are blanks."""
    parts: list[str] = []
    first = at = 0
    for start, end in _list_live(unit):
        gap = unit.text[at:start]
        if parts and _PREFIX.match(gap):
            parts.append(" " * len(gap))
        else:
            if parts:
                yield first, at, "".join(parts)
            parts, first = [], start
        parts.append(_flatten(unit, start, end))
        at = end
    if parts:
        yield first, at, "".join(parts)


def _list_live(unit: Unit) -> Iterator[tuple[int, int]]:
    """The literals that are compiled: in dead code their quotes are blank, too."""
    return ((start, end) for start, end in unit.code.literals if unit.text[start] == '"')


def _flatten(unit: Unit, start: int, end: int) -> str:
    whole, held = unit.code.text[start:end], read_literal(unit, start, end)
    before = 1 + max(whole[1:].find(held), 0)
    if unit.code.text[max(0, start - 1) : start] != "R":
        held = _ESCAPE.sub(lambda match: _HELD.get(match[1], "  "), held)
    return (" " * before + held).ljust(len(whole))[: len(whole)]
