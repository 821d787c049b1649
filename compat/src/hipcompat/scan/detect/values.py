"""Unit → values that mean something else under HIP: device pointers, compute capabilities, versions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipcompat.scan.detect.calls import find_calls
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import is_directive
from hipcompat.scan.rule import Hit, Hits

_POINTER = re.compile(r"\b(?:CUdeviceptr|hipDeviceptr_t)\s+(\w+)")
_ANOTHER_TYPE = (
    r"\b(?!CUdeviceptr\b|hipDeviceptr_t\b|return\b|else\b|case\b|const\b|delete\b|new\b)[A-Za-z_]\w*"
    r"\s+[*&]*\s*(?:{})\s*[=,;)({{[]"
)
_ARITHMETIC = (
    r"\b({0})\s*(?:[-+]=|\+\+|--|[+%^](?![+=])|-(?![->=])|<=|>=|<(?!<)|>(?!>)|&(?!&))"
    r"|(?:[+]|(?<!-)-)\s*\b({0})\b(?!\s*(?:\[|->))"
    r"|\b(?:size_t|uintptr_t|uint64_t|unsigned\s+long(?:\s+long)?)\s+\w+\s*=\s*({0})\s*;"
)
_ATTRIBUTE = re.compile(r"ComputeCapability|COMPUTE_CAPABILITY")
_ATTRIBUTES = frozenset(("cudaDeviceGetAttribute", "cuDeviceGetAttribute", "hipDeviceGetAttribute"))
_CAPABILITIES = frozenset(("cuDeviceComputeCapability", "hipDeviceComputeCapability"))
_VERSIONS = frozenset((
    "cudaRuntimeGetVersion", "cudaDriverGetVersion", "cuDriverGetVersion", "hipRuntimeGetVersion",
    "hipDriverGetVersion",
))  # fmt: skip
_VARIABLE = re.compile(r"\s*(?:\([^()]*\)\s*)?&\s*([A-Za-z_]\w*)\s*$")
_DECIDED = r"\b{}\s*(?:[<>]=?|==|!=|[*/%])|(?:[<>]=?|==|!=)\s*{}\b"
_REACH = 3_000
"""Characters after a call in which its value may be used."""
_MOST_NAMES = 100
_NEAR = 20


def find_value_hits(unit: Unit) -> Hits:
    """All of them."""
    if "CUdeviceptr" in unit.text or "hipDeviceptr_t" in unit.text:
        yield from _find_arithmetic(unit)
    if any(word in unit.text for word in ("GetVersion", "ComputeCapability", "COMPUTE_CAPABILITY")):
        yield from _find_decisions(unit)


def _find_arithmetic(unit: Unit) -> Hits:
    """CUdeviceptr is a number, hipDeviceptr_t a void *: sums, orders and conversions without a cast do not compile."""
    names = sorted({match[1] for match in _POINTER.finditer(unit.text)})[:_MOST_NAMES]
    own = [name for name in names if not re.search(_ANOTHER_TYPE.format(re.escape(name)), unit.text)]
    if not own:
        return
    for match in re.finditer(_ARITHMETIC.format("|".join(map(re.escape, own))), unit.text):
        name = match[1] or match[2] or match[3]
        at = match.start() + match.group().rindex(name)
        is_cast = unit.text[max(0, at - _NEAR) : at].rstrip().endswith(")")
        if not is_cast and not is_directive(unit.text, at):  # <hip/hip_runtime.h>
            yield Hit(rule="device-pointer", start=at, end=at + len(name), detail=name)


def _find_decisions(unit: Unit) -> Hits:
    for call in find_calls(unit, _ATTRIBUTES | _CAPABILITIES | _VERSIONS):
        if call.name in _ATTRIBUTES and not (
            len(call.arguments) > 1 and _ATTRIBUTE.search(unit.text, *call.arguments[1])
        ):
            continue
        rule = "runtime-version" if call.name in _VERSIONS else "capability-check"
        for name in _find_variables(unit, call.arguments):
            if re.compile(_DECIDED.format(name, name)).search(unit.text, call.end, call.end + _REACH):
                yield Hit(rule=rule, start=call.start, end=call.end, detail=name)
                break


def _find_variables(unit: Unit, arguments: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """The variables whose addresses are given."""
    for start, end in arguments:
        if match := _VARIABLE.match(unit.text[start:end]):
            yield match[1]
