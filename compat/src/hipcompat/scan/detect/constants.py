"""Code and its macros → what names and expressions come to: constants, enumerators, variables set once, sizeof."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hipcompat.scan.conditions import compute

_ENUM = re.compile(r"\benum\b[^{};()]{0,80}\{([^{}]{0,4000})\}")
_ENUMERATOR = re.compile(r"(\w+)\s*=\s*([^,]{1,200})")
_SIZEOF = re.compile(r"\bsizeof\s*\(\s*([\w:]+(?:\s+\w+){0,2})\s*\)")
_CAST = re.compile(
    r"\(\s*(?:(?:unsigned|signed|long|short|int|char|size_t|u?int(?:8|16|32|64)_t)\s*)+\)"
    r"|\bstatic_cast\s*<[\w\s:]{1,40}>|\b(?:int|unsigned|size_t)(?=\s*\()"
)
_NAME = re.compile(r"\b[A-Za-z_]\w*", re.ASCII)
_SET = re.compile(r"\s*=(?!=)\s*([^;,{}=]{1,200}?)\s*;")
_BRACED = re.compile(r"\s*\{\s*([^;{}]{1,200}?)\s*\}\s*;")
_TYPE = re.compile(r"([A-Za-z_]\w*)\s+$")
_NO_TYPES = frozenset(("return", "else", "case", "sizeof", "new", "delete", "goto", "throw", "define", "defined", "do"))
_MEMBER = re.compile(r"(?:\.|->)\s*$")
_CHANGED = re.compile(r"\s*(?:(?:[-+*/%|&^]|<<|>>)?=(?!=)|\+\+|--)")
_CHANGED_BEFORE = re.compile(r"(?:\+\+|--|[(,]\s*&)\s*$")
_DECLARED = re.compile(r"\s*(?:[,;)>\[]|:(?!:))")
_NEAR = 60
_EXPRESSION = re.compile(r"[\w\s+\-*/%<>=!&|^~()]+")
_MOST_VALUES = 50
_LONGEST = 400
_MOST_PLACES = 200
_MOST_NAMES = 500
_BY_SIZE = {
    1: "char|signed char|unsigned char|bool|int8_t|uint8_t|uchar|__nv_fp8_e4m3|__nv_fp8_e5m2|byte|std::byte",
    2: "short|unsigned short|int16_t|uint16_t|half|__half|__nv_bfloat16|__hip_bfloat16|nv_bfloat16|ushort",
    4: "int|unsigned|unsigned int|int32_t|uint32_t|uint|float|half2|__half2|__nv_bfloat162|char4|uchar4|short2|ushort2",
    8: "double|long|unsigned long|long long|unsigned long long|size_t|int64_t|uint64_t|float2|int2|uint2|short4",
    12: "float3|int3|uint3", 16: "float4|int4|uint4|double2|longlong2|ulonglong2", 24: "double3", 32: "double4",
}  # fmt: skip
SIZES: Mapping[str, int] = {name: size for size, names in _BY_SIZE.items() for name in names.split("|")}
"""Bytes of types, on Linux."""


class Constants:
    """What a file says about its names. Nothing is read before something is asked."""

    def __init__(self, code: str, macros: Mapping[str, str]) -> None:
        self._code = code
        self._macros = macros
        self._enumerators: dict[str, str] | None = None
        self._found: dict[str, str] = {}

    def find_text(self, name: str) -> str:
        """What a macro, a constant, or a variable that has one value everywhere stands for; else nothing."""
        if name in self._macros:
            return self._macros[name]
        if name not in self._found:
            self._found[name] = self._find(name) if name.isidentifier() else ""
        return self._found[name]

    def _find(self, name: str) -> str:
        """All declarations of the name agree, and nothing else is assigned to it."""
        if self._enumerators is None:
            self._enumerators = _read_enumerators(self._code)
        if name in self._enumerators:
            return self._enumerators[name]
        if len(self._found) >= _MOST_NAMES:
            return ""
        values: set[str] = set()
        for count, (start, end) in enumerate(_find_word(self._code, name)):
            value = _read_value(self._code, start, end)
            if value is None or count >= _MOST_PLACES:
                return ""
            values.add(value)
        values.discard("")
        return values.pop() if len(values) == 1 else ""

    def evaluate(self, text: str, known: Mapping[str, str] | None = None) -> int | None:
        """A number, or None where something in it is not known. `known` has the values of template parameters."""
        return self._evaluate(text, known or {}, {})

    def _evaluate(self, text: str, known: Mapping[str, str], values: dict[str, int | None]) -> int | None:
        """`values` are those of the names that were met so far; one that is still being looked at is None."""
        if len(text) > _LONGEST or len(values) > _MOST_VALUES:
            return None
        text = _SIZEOF.sub(lambda match: str(find_size(known.get(match[1], match[1])) or "?"), text)
        text = _CAST.sub("", text)
        if not _EXPRESSION.fullmatch(text):
            return None
        for name in dict.fromkeys(_NAME.findall(text)):
            if name not in values:
                values[name] = None
                meant = known.get(name) or self.find_text(name)
                values[name] = self._evaluate(meant, known, values) if meant else None
            if values[name] is None:
                return None
        return compute(text, values)


def find_size(kind: str) -> int:
    """Bytes of a type, or 0."""
    return SIZES.get(" ".join(kind.split()), 0)


def _read_enumerators(code: str) -> dict[str, str]:
    if "enum" not in code:
        return {}
    return {
        match[1]: match[2].strip() for body in _ENUM.finditer(code) for match in _ENUMERATOR.finditer(body[1])
    }


def _find_word(code: str, name: str) -> Iterator[tuple[int, int]]:
    at = code.find(name)
    while at >= 0:
        end = at + len(name)
        if not _is_part(code[at - 1 : at]) and not _is_part(code[end : end + 1]):
            yield at, end
        at = code.find(name, end)


def _is_part(character: str) -> bool:
    return character.isalnum() or character == "_"


def _read_value(code: str, start: int, end: int) -> str | None:
    """The value that a name gets there; empty where it is only used; None where it may get one that is not told."""
    before = code[max(0, start - _NEAR) : start]
    if _MEMBER.search(before):
        return ""
    if match := _SET.match(code, end):
        return match[1].strip()
    word = _TYPE.search(before)
    is_declared = word is not None and word[1] not in _NO_TYPES
    if is_declared and (match := _BRACED.match(code, end)):
        return match[1].strip()
    is_changed = _CHANGED.match(code, end) or _CHANGED_BEFORE.search(before)
    return None if is_changed or (is_declared and _DECLARED.match(code, end)) else ""
