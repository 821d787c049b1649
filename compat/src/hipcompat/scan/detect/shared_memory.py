"""Unit → where a block asks for more shared memory than a GPU has: arrays, what a launch gives, what a kernel may get.

64 KB of local data share for a block, 160 KB on gfx950: the GPUs' tables of
https://rocm.docs.amd.com/en/latest/reference/gpu-arch-specs.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hipcompat.scan.detect.calls import find_calls, split_call
from hipcompat.scan.detect.constants import find_size
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import find_function
from hipcompat.scan.rule import LDS_64, LDS_160, Hit, Hits

_LDS_BYTES = 65_536
_LARGE_LDS_BYTES = 163_840
_DECLARED = re.compile(r"(?<!extern )\b__shared__\b([^;{}=]{1,400});")
_QUALIFIER = re.compile(r"\b(?:__align__|alignas)\s*\([^()]*\)|\b(?:volatile|const|static|typename|__restrict__)\b")
_TYPE = re.compile(r"\s*((?:(?:unsigned|signed|long|short)\s+)*(?:::)?[\w:]+(?:<[^;<>]*>)?)\s*")
_NAME = re.compile(r"\s*(\*?)\s*\w+\s*((?:\[[^\[\]]*\]\s*)*)$")
_DIMENSION = re.compile(r"\[([^\[\]]*)\]")
_LAUNCH = re.compile(r"<<<([^;{}]{1,500}?)>>>")
_CONFIG = re.compile(r"\bdynamicSmemBytes\s*=\s*([^;,{}]{1,200})[;,}]")
_TEMPLATE = re.compile(r"template\s*<([^{};]{1,400})>[^{};]*$")
_PARAMETER = re.compile(
    r"(?:typename|class|int|unsigned|size_t|bool|uint32_t|auto|unsigned\s+int)\s+(\w+)\s*(?:=\s*(.+))?$"
)
_HEADER = 2_000
_MOST_USES = 20
_ATTRIBUTE = "maxdynamicshared"
_MOST_BYTES = 1 << 40
_CALLS = frozenset((
    "cudaFuncSetAttribute", "hipFuncSetAttribute", "cuFuncSetAttribute", "cudaLaunchKernel", "hipLaunchKernel",
    "cudaLaunchCooperativeKernel", "hipLaunchCooperativeKernel",
))  # fmt: skip


def find_shared_memory_hits(unit: Unit) -> Hits:
    """Sizes that the file itself tells; a size that hangs on something else is none."""
    if "__shared__" in unit.text:
        for start, end in unit.bodies:
            yield from _judge_body(unit, start, end)
    for start, end, size in _find_dynamic(unit):
        if size is not None and _LDS_BYTES < size < _MOST_BYTES:
            yield Hit(rule="shared-memory", start=start, end=end, detail=f"{size} bytes", archs=_choose_archs(size))


def _choose_archs(size: int) -> tuple[str, ...]:
    return (*LDS_64, *LDS_160) if size > _LARGE_LDS_BYTES else LDS_64


def _judge_body(unit: Unit, start: int, end: int) -> Hits:
    """The sum of a function's arrays, by the values that its template parameters have in this file."""
    declared = list(_DECLARED.finditer(unit.text, start, end))
    if not declared:
        return
    # One branch of if constexpr is compiled: the largest array, and not the sum, is certain.
    combine = max if "if constexpr" in unit.text[start:end] else sum
    worst = 0
    for known in _find_instances(unit, start):
        sizes = [_measure(unit, match[1], known) for match in declared]
        worst = max(worst, combine(sizes))
    if _LDS_BYTES < worst < _MOST_BYTES:
        first = declared[0]
        yield Hit(
            rule="static-shared-memory", start=first.start(), end=first.end(), detail=f"{worst} bytes",
            archs=_choose_archs(worst),
        )  # fmt: skip


def _measure(unit: Unit, text: str, known: Mapping[str, str]) -> int:
    """Bytes of one declaration, at least: an array whose size is not told is none, an unknown type one byte."""
    text = _QUALIFIER.sub(" ", text)
    kind = _TYPE.match(text)
    if kind is None:
        return 0
    name = " ".join(known.get(kind[1], kind[1]).split())
    total = 0
    opened = f"({text[kind.end() :]})"
    for start, end in split_call(opened, 0):
        declarator = _NAME.match(opened, start, end)
        size = _count_elements(unit, declarator[2], known) if declarator else 0
        total += size * (8 if declarator and declarator[1] else max(find_size(name), 1))
    return total


def _count_elements(unit: Unit, dimensions: str, known: Mapping[str, str]) -> int:
    count = 1
    for match in _DIMENSION.finditer(dimensions):
        count *= max(unit.constants.evaluate(match[1], known) or 0, 0)
    return min(count, _MOST_BYTES)


def _find_instances(unit: Unit, body: int) -> Iterator[Mapping[str, str]]:
    """Values of the template parameters of the function whose body begins there: none, or those of each use."""
    before = unit.text[max(0, body - _HEADER) : body]
    template, (kernel, _) = _TEMPLATE.search(before), find_function(unit.text, body)
    parameters = _read_parameters(template[1]) if template and kernel else []
    defaults = {name: default for name, default in parameters if default}
    yield defaults
    if not parameters:
        return
    uses = re.finditer(rf"\b{kernel}\s*<(?!<)([^;{{}}]{{1,300}}?)>\s*(?:<<<|\(|,|\))", unit.text)
    for count, use in enumerate(uses):
        if count >= _MOST_USES:
            return
        given = zip(parameters, _split_list(use[1]), strict=False)
        yield defaults | {name: value for (name, _), value in given}


def _read_parameters(text: str) -> list[tuple[str, str]]:
    """Names and defaults. Empty where one is of a kind that has no value of its own."""
    found = []
    for part in _split_list(text):
        match = _PARAMETER.match(part)
        if match is None:
            return []
        found.append((match[1], (match[2] or "").strip()))
    return found


def _split_list(text: str) -> list[str]:
    """What the commas outside of brackets part, without the blanks around it."""
    return [text[start - 1 : end - 1].strip() for start, end in split_call(f"({text})", 0)]


def _find_dynamic(unit: Unit) -> Iterator[tuple[int, int, int | None]]:
    """Places, and the bytes that are asked for there."""
    text = unit.text
    if "<<<" in text:
        for match in _LAUNCH.finditer(text):
            arguments = split_call(f"({match[1]})", 0)
            if len(arguments) > 2:
                start, end = (match.start(1) + offset - 1 for offset in arguments[2])
                yield match.start(), match.end(), unit.constants.evaluate(text[start:end].strip())
    if "dynamicSmemBytes" in text:
        for match in _CONFIG.finditer(text):
            yield match.start(), match.end(), unit.constants.evaluate(match[1].strip())
    if any(name in text for name in _CALLS):
        for call in find_calls(unit, _CALLS):
            place = 4 if "Launch" in call.name else 2
            if len(call.arguments) <= place:
                continue
            if "Launch" in call.name or _ATTRIBUTE in text[slice(*call.arguments[1])].replace("_", "").lower():
                yield call.start, call.end, unit.constants.evaluate(text[slice(*call.arguments[place])].strip())
