"""Unit → what a mask of a _sync call is: 32 bits by what the file declares; and where the code is HIP's own already."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipcompat.scan.detect.surroundings import is_full_mask
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import is_inside, merge_ranges, split_arguments

_TOKEN = re.compile(r"(?<![\w'])(?:[A-Za-z_]\w*|\d[\w']*)|\.|->")
_OF_32 = frozenset(("unsigned", "int", "signed", "uint32_t", "int32_t", "std::uint32_t", "std::int32_t", "uint", "u32"))
_NO_TYPES = frozenset(("const", "constexpr", "volatile", "static", "register", "return", "else", "case", "std"))
_BEFORE = re.compile(r"((?:[A-Za-z_][\w:]*\s+|[A-Za-z_][\w:]*\s*&\s*){1,4})$")
_AFTER = re.compile(r"\s*(?:=(?!=)\s*([^;]{0,400})|[;,)\[{])")
_NARROWED = re.compile(r"static_cast<unsigned int>\(|__activemask\s*\(\s*\)\s*$")
"""Of which translation leaves the first, and makes it of the second."""
_BITS = re.compile(r"__(?:ballot|match_any|match_all)_sync\s*\(|(__ballot)\s*\(")
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b([^\n]*)", re.MULTILINE)
_HIP = re.compile(r"HIP|ROCM|__AMDGCN__|__AMDGPU__")
_NVIDIA = re.compile(r"__CUDACC__|__NVCC__|__CUDA_ARCH__")
_ACTIVE = re.compile(r"__activemask\s*\(\s*\)$")
_MASK_VALUE_LANE = 3
_MOST = 200
_DEEPEST = 4


def is_active_mask(unit: Unit, start: int, end: int) -> bool:
    """The argument there is __activemask(), itself or by a macro."""
    text = unit.text[start:end].strip()
    return _ACTIVE.match(unit.macros.get(text, text)) is not None


def is_narrow_mask(unit: Unit, start: int, end: int, *, is_wave: bool) -> bool:
    """All that the argument there is made of is known to have 32 bits; a full mask and __activemask() are not meant.

    `is_wave`: lanes are counted by warpSize there, where translation leaves ballots their 64 bits.
    """
    if is_full_mask(unit, start, end) or is_active_mask(unit, start, end):
        return False
    return _is_narrow(unit, unit.text[start:end], start, 0, is_wave)


def spans_wave(unit: Unit, name: str | None, arguments: tuple[tuple[int, int], ...]) -> bool:
    """Of a call where lanes are counted by warpSize: no width of its own keeps it to 32 lanes. `name`: shfl, any."""
    is_wide = len(arguments) <= _MASK_VALUE_LANE or "warpSize" in unit.text[slice(*arguments[_MASK_VALUE_LANE])]
    return name is not None and (not name.startswith("shfl") or is_wide)


def _is_narrow(unit: Unit, text: str, at: int, depth: int, is_wave: bool) -> bool:
    tokens = [match.group() for match in _TOKEN.finditer(text)]
    if depth > _DEEPEST or not tokens or len(tokens) > _MOST:
        return False
    return all(
        token in _OF_32 or token in {"static_cast", "std"} or _has_32(unit, token, at, depth, is_wave)
        for token in tokens
    )


def _has_32(unit: Unit, token: str, at: int, depth: int, is_wave: bool) -> bool:
    """A number by its suffix and size; a name by its macro, or its last declaration before `at`."""
    if token[0].isdigit():
        digits = token.replace("'", "").rstrip("uUlL")
        is_long = "ll" in token.lower()
        try:
            return not is_long and int(digits, 8 if digits[0] == "0" and digits.isdigit() else 0) < 1 << 32
        except ValueError:
            return False
    if token in unit.macros:
        return _is_narrow(unit, unit.macros[token], at, depth + 1, is_wave)
    if not token.isidentifier():
        return False
    places = [match.span() for match in re.compile(rf"\b{token}\b", re.ASCII).finditer(unit.text, 0, at)]
    for start, end in reversed(places[-_MOST:]):
        before, after = _BEFORE.search(unit.text, max(0, start - 80), start), _AFTER.match(unit.text, end)
        if before is None or after is None:
            continue
        words = set(re.findall(r"[\w:]+", before[1])) - _NO_TYPES
        if words:
            return words <= _OF_32 or (words == {"auto"} and _gives_32(unit, end, after, depth, is_wave))
    return False


def _gives_32(unit: Unit, at: int, after: re.Match[str], depth: int, is_wave: bool) -> bool:
    """What `auto` is set to: lanes of the caller's 32, as translation leaves them, or an expression of 32 bits."""
    held = after[1] or ""
    bits = _BITS.match(held)
    if bits and is_wave:
        return False
    if bits and not bits[1]:
        arguments = split_arguments(unit.text, after.start(1) + bits.end() - 1)
        return bool(arguments) and (
            is_full_mask(unit, *arguments[0])
            or is_active_mask(unit, *arguments[0])
            or _is_narrow(unit, unit.text[slice(*arguments[0])], at, depth + 1, is_wave)
        )
    return bool(bits or (_NARROWED.match(held) and not is_wave)) or _is_narrow(unit, held, at, depth + 1, is_wave)


class OwnCode:
    """Where a file is written for HIP already: it includes HIP's headers, or a branch is for HIP, or not for NVIDIA."""

    def __init__(self, unit: Unit) -> None:
        self._is_whole = any(include.name.startswith("hip/") for include in unit.includes)
        self._ranges = () if self._is_whole else merge_ranges(list(_find_own(unit.text)))

    def has(self, offset: int) -> bool:
        """The code at `offset` is HIP's."""
        return self._is_whole or is_inside(self._ranges, offset)


def _find_own(text: str) -> Iterator[tuple[int, int]]:
    open_: list[tuple[int, int]] = []  # where the branch begins, and whether it is HIP's: 1, NVIDIA's: -1, or nobody's
    for match in _DIRECTIVE.finditer(text):
        word, side = match[1], _find_side(match[1], match[2])
        if word.startswith("if"):
            open_.append((match.end(), side))
            continue
        if not open_:
            continue
        start, before = open_.pop()
        if before > 0:
            yield start, match.start()
        if word != "endif":
            open_.append((match.end(), -before if word == "else" else side))
    yield from ((start, len(text)) for start, side in open_ if side > 0)


def _find_side(word: str, condition: str) -> int:
    """1 for HIP, -1 for NVIDIA, 0 where both or none are asked for."""
    side = bool(_HIP.search(condition)) - bool(_NVIDIA.search(condition))
    return -side if word == "ifndef" or condition.lstrip().startswith("!") else side
