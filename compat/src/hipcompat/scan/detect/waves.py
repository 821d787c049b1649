"""Unit → where it counts lanes by warpSize, and the shuffles there without a width: their groups are whole waves."""

from __future__ import annotations

import bisect
import re

from hipcompat.scan.detect.surroundings import is_full_mask
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import split_arguments
from hipcompat.scan.rule import Hit, Hits

_WARPSIZE = re.compile(r"(?<!\.)(?<!->)\bwarpSize\b")
_MACRO = re.compile(r"#[ \t]*define[ \t]+([A-Za-z_]\w*)(?:[ \t(][^\n]*)?\bwarpSize\b")
_SHUFFLE = re.compile(r"(?<![\w.])__shfl(?:_up|_down|_xor)?_sync(?=\s*\()")
_WITHOUT_WIDTH = 3
_MOST_MACROS = 50


class Waves:
    """Where a unit speaks of warpSize, by itself or through its own macros; prop.warpSize on the host is not it."""

    def __init__(self, unit: Unit) -> None:
        self._bodies = unit.bodies
        self._places: list[int] = []
        if "warpSize" in unit.text:
            names = sorted({match[1] for match in _MACRO.finditer(unit.text)})[:_MOST_MACROS]
            macros = re.compile(rf"\b(?:{'|'.join(names)})\b") if names else None
            self._places += [match.start() for match in _WARPSIZE.finditer(unit.text)]
            self._places += [match.start() for match in macros.finditer(unit.text)] if macros else []
            self._places.sort()

    def has(self, offset: int) -> bool:
        """The device function around `offset` does; outside of any (a macro, a plain template), the file does."""
        at = bisect.bisect_right(self._bodies, offset, key=lambda body: body[0]) - 1
        if at < 0 or offset >= self._bodies[at][1]:
            return bool(self._places)
        start, end = self._bodies[at]
        first = bisect.bisect_left(self._places, start)
        return first < len(self._places) and self._places[first] < end


def find_wave_hits(unit: Unit) -> Hits:
    """Shuffles with a full 32-bit mask and no width: hipcompat's headers cannot tell that they span the wave."""
    if "warpSize" not in unit.text:
        return
    waves = Waves(unit)
    for match in _SHUFFLE.finditer(unit.text):
        if waves.has(match.start()):
            arguments = split_arguments(unit.text, unit.text.index("(", match.end()))
            if len(arguments) == _WITHOUT_WIDTH and is_full_mask(unit, *arguments[0]):
                yield Hit(rule="wave-width", start=match.start(), end=match.end(), detail=match.group())
