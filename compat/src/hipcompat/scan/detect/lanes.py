"""Unit → calls that mean 32 lanes in CUDA and the whole wavefront in HIP: with the active mask, and without a mask."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipcompat.scan.detect.masks import OwnCode, is_active_mask
from hipcompat.scan.detect.unit import Unit, defines_itself, names_declaration
from hipcompat.scan.detect.waves import Waves
from hipcompat.scan.regions import split_arguments, trim
from hipcompat.scan.rule import Hit, Hits

Place = tuple[re.Match[str], tuple[tuple[int, int], ...]]
"""A call up to its parenthesis, the name without __ in group 1, and its arguments."""

CALL = re.compile(
    r"(?<![\w.])__(shfl(?:_up|_down|_xor)?|ballot|any|all|match_any|match_all|reduce_\w+)_sync\s*\(|__syncwarp\s*\("
)
_LEGACY = re.compile(r"(?<![\w.])__(shfl(?:_up|_down|_xor)?|ballot|any|all)(\s*\()")
_ALONE = re.compile(r"(?<![\w.])__activemask\s*\(\s*\)(?!\s*(?:&\s*\(0xffffffffull|>>\s*\(__lane_id\(\)))")
_DEFINED = re.compile(r"#[ \t]*define[ \t]+$")
_NEAR = 40
_WITHOUT_WIDTH = 3


class Lanes:
    """Where a unit's calls are CUDA's, by what stands around them."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self.waves = Waves(unit)
        self.own = OwnCode(unit)

    def find_alone(self) -> Iterator[re.Match[str]]:
        """__activemask(), also where it is a mask."""
        return (match for match in _ALONE.finditer(self._unit.text) if self._is_for_32(match))

    def find_legacy(self) -> Iterator[Place]:
        """Shuffles without a width and votes of before CUDA 9."""
        for match in _LEGACY.finditer(self._unit.text):
            arguments = split_arguments(self._unit.text, match.end() - 1)
            wanted = 2 if match[1].startswith("shfl") else 1
            if len(arguments) == wanted and self._is_for_32(match):
                yield match, arguments

    def _is_for_32(self, match: re.Match[str]) -> bool:
        """It is CUDA's call of that name, and lanes are not counted by warpSize."""
        text, start = self._unit.text, match.start()
        before = text[max(0, start - _NEAR) : start].rstrip()
        is_operand = before.endswith(("*", "&", ">"))  # and no type: none of these returns a pointer
        if self.waves.has(start) or self.own.has(start) or (names_declaration(text, start) and not is_operand):
            return False
        is_defined = _DEFINED.search(text, max(0, start - _NEAR), start) is not None
        return not is_defined and not defines_itself(self._unit, match.group().partition("(")[0].rstrip())


def find_lane_hits(unit: Unit) -> Hits:
    """What translation gives a width, or the lanes of the caller's 32."""
    if not (_LEGACY.search(unit.text) or _ALONE.search(unit.text)):
        return
    lanes = Lanes(unit)
    masks = set[int]()
    for match in CALL.finditer(unit.text):
        arguments = split_arguments(unit.text, match.end() - 1)
        if not arguments or not is_active_mask(unit, *arguments[0]):
            continue
        masks.add(trim(unit.text, *arguments[0])[0])
        is_short = len(arguments) == _WITHOUT_WIDTH if (match[1] or "").startswith("shfl") else match[1] is not None
        if is_short and not lanes.own.has(match.start()) and not lanes.waves.has(match.start()):
            yield Hit(rule="warp-call", start=match.start(), end=match.end() - 1, detail=match.group()[:-1].rstrip())
    for match, _ in lanes.find_legacy():
        yield Hit(rule="warp-call", start=match.start(), end=match.end() - 1, detail=f"__{match[1]}")
    for match in lanes.find_alone():
        if match.start() not in masks:
            yield Hit(rule="warp-call", start=match.start(), end=match.end(), detail="__activemask")
