"""Unit → calls that HIP's function of that name does not take, by the types of a file's names; attributes of kernels.

Each was compiled against ROCm 7.2.4's headers, hipcompat's before them, by clang 22.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipcompat.scan.detect.calls import split_call
from hipcompat.scan.detect.unit import Unit, defines_itself
from hipcompat.scan.regions import is_directive, split_arguments
from hipcompat.scan.rule import Hit, Hits

_TYPES = (
    r"(?:un)?signed\s+long\s+long(?:\s+int)?|unsigned\s+long|long\s+long(?:\s+int)?|unsigned(?:\s+int)?|long|u?int\d+_t"
    r"|size_t|int|float[234]?|double|__half2?|half2?|(?:__)?nv_bfloat16[2]?|uint|T|scalar_t"
)
_DECLARED = re.compile(
    rf"\b({_TYPES})\s*(?:const\b\s*)?[*&]?\s*(?:const\b\s*)?(?:__restrict__\s*)?\b(\w+)\s*(?=[=;,)\[{{])"
)
_CALL = re.compile(r"(?<![\w.>])(__hmax2|__hmin2|__ldg|__ffs|__ffsll|atomicAdd)(?=\s*\()")
_FIRST_NAME = re.compile(r"[\s(&*]*([A-Za-z_]\w*)\b(?!\s*(?:\(|::|\.|->))")
_MADE_HALF2 = re.compile(r"\s*(?:__\w*half2\w*|make_half2)\s*\(")
_PAIR_POINTER = re.compile(r"\bfloat[24]\s*\*")
_WIDE = frozenset(("unsigned long long", "unsigned long long int", "long long", "long long int", "signed long long",
                   "unsigned long", "long", "size_t", "uint64_t", "int64_t"))  # fmt: skip
_AS_LONG = frozenset(("unsigned long", "long", "size_t", "uint64_t", "int64_t"))
"""On Linux these are no long long, and HIP has an overload for each sign of that."""
_REFUSED: dict[str, frozenset[str]] = {
    "__hmax2": frozenset(("half2", "__half2")), "__hmin2": frozenset(("half2", "__half2")),
    "__ldg": frozenset(("__nv_bfloat16", "nv_bfloat16")), "__ffs": _WIDE, "__ffsll": _AS_LONG,
    "atomicAdd": frozenset(("float2", "float4")),
}  # fmt: skip
_ATTRIBUTE = re.compile(r"\b(__cluster_dims__|__maxnreg__|__block_size__|__launch_bounds__)\s*\(")
_MOST_BOUNDS = 2
_ASSUME = re.compile(r"(?<![\w.>])__assume(?=\s*\()")


def find_overload_hits(unit: Unit) -> Hits:
    """A file's own function of the name takes what it likes."""
    text = unit.text
    calls = [match for match in _CALL.finditer(text) if not is_directive(text, match.start())]
    if calls:
        types = _read_types(text)
        own = {name for name in {match[1] for match in calls} if defines_itself(unit, name)}
        for match in calls:
            if match[1] not in own and (kind := _find_refused(text, match, types)):
                detail = f"{match[1]} of {kind}"
                yield Hit(rule="device-overload", start=match.start(), end=match.end(), detail=detail)
    if "__assume" in text and not defines_itself(unit, "__assume"):
        for match in _ASSUME.finditer(text):
            yield Hit(rule="device-function", start=match.start(), end=match.end(), detail="__assume")
    yield from _find_attributes(unit)


def _read_types(text: str) -> dict[str, str]:
    """Names that are declared with one type only, whether of a value, a pointer or an array."""
    found: dict[str, set[str]] = {}
    for match in _DECLARED.finditer(text):
        found.setdefault(match[2], set()).add(" ".join(match[1].split()))
    return {name: next(iter(kinds)) for name, kinds in found.items() if len(kinds) == 1}


def _find_refused(text: str, match: re.Match[str], types: dict[str, str]) -> str:
    arguments = split_arguments(text, text.index("(", match.end()))
    if not arguments:
        return ""
    first = text[slice(*arguments[0])]
    if match[1] == "atomicAdd" and (pointer := _PAIR_POINTER.search(first)):
        return pointer.group().rstrip("* ")
    if match[1].startswith("__h") and _MADE_HALF2.match(first):
        return "half2"
    name = _FIRST_NAME.match(first)
    kind = types.get(name[1], "") if name else ""
    return kind if kind in _REFUSED[match[1]] else ""


def _find_attributes(unit: Unit) -> Iterator[Hit]:
    for match in _ATTRIBUTE.finditer(unit.text):
        is_third = match[1] != "__launch_bounds__" or len(split_call(unit.text, match.end() - 1)) > _MOST_BOUNDS
        if is_third and match[1] not in unit.macros and not is_directive(unit.text, match.start()):
            yield Hit(rule="kernel-attribute", start=match.start(), end=match.end(1), detail=match[1])
