"""A name and what stands around it → hits: masks, warpSize, ignored errors, textures."""

from __future__ import annotations

import re

from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import is_directive, is_inside, split_arguments
from hipcompat.scan.rule import Hit, Hits

_FULL_32 = re.compile(r"(?:0[xX][fF]{8}|~\s*0|-\s*1|4294967295|UINT_MAX|UINT32_MAX|0[xX]ffff'ffff)[uU]?[lL]?$")
_FULL_64 = re.compile(r"(?:0[xX][fF]{16}|~\s*0[uU]?[lL]{1,2}|~\s*0[lL]{1,2}[uU]|ULLONG_MAX|UINT64_MAX)[uUlL]*$")
_CAST = re.compile(r"^\(\s*[\w\s:]+\)\s*|^(?:unsigned|uint32_t|unsigned\s+int|static_cast<[^<>]*>)\s*\(|^\(")
_ACTIVE = re.compile(r"(?:static_cast<unsigned int>\()?(?:__activemask\s*\(\s*\)\s*(?:&|>>|$)|__ballot\w*\s*\()")
_WIDENED = re.compile(
    r"static_cast<unsigned long long>\(static_cast<unsigned int>\((.*)\)\) << \(__lane_id\(\) & 32\)$"
)
"""As translation moves a mask of 32 bits to the caller's lanes."""
_CALL = re.compile(r"\s*(?:<[^<>;{}]*>\s*)?\(")
_STATEMENT_BEFORE = re.compile(r"(?:^|[;{}])\s*(?:\(\s*void\s*\)\s*)?$")
_WARPSIZE_CONSTANT = (
    re.compile(r"\b(?:constexpr|enum)\b[^;{}()]*=[^;{}()]*$"),
    re.compile(r"\b(?:__shared__|float|double|int|unsigned|half|bool|char|T|scalar_t)\b[^;{}()=]*\[[^;{}\]]*$"),
    re.compile(r"\b[A-Z]\w*\s*<[^;{}()<>]*$"),
    re.compile(r"\bcase\s[^:;{}]*$|\bstatic_assert\s*\([^;{}]*$"),
)
_DEFINED = re.compile(r"#[ \t]*define[ \t]+(\w+)[ \t]+[^\n]*$")
"""A macro without parameters, up to where the name stands."""
_LONGEST_MACRO = 200


def judge_mask(unit: Unit, start: int, end: int) -> Hits:
    """The mask of a _sync call: full and written out, or a value."""
    opening = _CALL.match(unit.text, end)
    if opening is None:
        return
    arguments = split_arguments(unit.text, opening.end() - 1)
    name = unit.text[start:end]
    if not arguments or (name == "__syncwarp" and not unit.text[slice(*arguments[0])].strip()):
        return
    mask = _resolve(_WIDENED.sub(r"\1", unit.text[slice(*arguments[0])].strip()), unit)
    if _FULL_64.search(mask) or _ACTIVE.match(mask):
        return
    rule = "mask-literal" if _FULL_32.match(mask) else "mask-value"
    yield Hit(rule=rule, start=start, end=end, detail=name)


def is_full_mask(unit: Unit, start: int, end: int) -> bool:
    """The argument there is 32 bits of ones, written out or by a macro or constant of the file."""
    return _FULL_32.match(_resolve(unit.text[start:end], unit)) is not None


def _resolve(text: str, unit: Unit) -> str:
    """A macro, constant, or variable with one value → what it stands for, without casts and parentheses."""
    for _ in range(4):
        text = text.strip()
        stripped = _CAST.sub("", text).rstrip(" )") if not _ACTIVE.search(text) else text
        text = unit.constants.find_text(stripped) or stripped
    return text


def judge_warpsize(unit: Unit, start: int, end: int) -> Hits:
    """warpSize where the language wants a constant."""
    before = unit.text[max(0, start - _LONGEST_MACRO) : start]
    macro = _DEFINED.search(before)
    if macro is not None:
        uses = re.finditer(rf"\b{macro[1]}\b", unit.text[end:])
        befores = (unit.text[max(0, end + use.start() - _LONGEST_MACRO) : end + use.start()] for use in uses)
        is_constant = any(_WARPSIZE_CONSTANT[1].search(text) and not _is_index(text) for text in befores)
    else:
        is_constant = any(pattern.search(before) for pattern in _WARPSIZE_CONSTANT) and not _is_index(before)
    if is_constant:
        yield Hit(rule="warpsize-constant", start=start, end=end, detail=macro[1] if macro else "warpSize")


def _is_index(before: str) -> bool:
    """x[i / warpSize] with x declared elsewhere, or an assignment: no constant is wanted."""
    statement = re.split(r"[;{}]", before)[-1]
    return "=" in statement and "constexpr" not in statement and "enum" not in statement and "[" not in statement


def judge_last_error(unit: Unit, start: int, end: int) -> Hits:
    """cudaGetLastError(), or HIP's, as a statement of its own."""
    if _STATEMENT_BEFORE.search(unit.text, max(0, start - 40), start) and re.match(
        r"\s*\(\s*\)\s*;", unit.text[end : end + 20]
    ):
        yield Hit(rule="sticky-error", start=start, end=end, detail=unit.text[start:end])


def judge_texture_fetch(unit: Unit, start: int, end: int) -> Hits:
    """tex2D( or tex2D<float>( in device code, or in a macro for it."""
    if _CALL.match(unit.text, end) and (is_inside(unit.bodies, start) or is_directive(unit.text, start)):
        yield Hit(rule="texture-fetch", start=start, end=end, detail=unit.text[start:end])
