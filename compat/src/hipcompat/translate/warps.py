"""Unit → edits of the _sync calls with a full 32-bit mask: HIP's has 64 bits and must name exactly the active lanes.

A full mask means "whoever is here" in CUDA, 32 lanes at most: a shuffle gets the active mask and a width of 32 (of
warpSize where its function counts lanes by warpSize: its groups are whole waves); a vote gets the active lanes of the
caller's 32, so that it gives the same answer on wavefronts of 64, or, where lanes are counted by warpSize, of the wave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipcompat.scan.detect.surroundings import is_full_mask
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.detect.waves import Waves
from hipcompat.scan.regions import split_arguments
from hipcompat.translate.edit import Edit

_CALL = re.compile(
    r"(?<![\w.])__(shfl(?:_up|_down|_xor)?|ballot|any|all|match_any|match_all|reduce_\w+)_sync\s*\(|__syncwarp\s*\("
)
_FIRST = "(__lane_id() & 32)"
_ACTIVE = "__activemask()"
_OWN_LANES = f"{_ACTIVE} & (0xffffffffull << {_FIRST})"
_SHUFFLE_ARGUMENTS = 3
_COUNTED = re.compile(r"(?<![\w.])(__popc|__ffs)\s*\(\s*$")
_NEAR = 40
_BITS = frozenset(("ballot", "match_any", "match_all"))


def find_mask_edits(unit: Unit) -> Iterator[Edit]:
    """Offsets are those of unit.text."""
    waves = Waves(unit)
    for match in _CALL.finditer(unit.text):
        arguments = split_arguments(unit.text, match.end() - 1)
        if not arguments or not is_full_mask(unit, *arguments[0]):
            continue
        if match[1] is None:
            yield Edit(start=arguments[0][0], end=arguments[0][1], text="")
        elif match[1].startswith("shfl"):
            yield from _edit_shuffle(arguments, "warpSize" if waves.has(match.start()) else "32")
        elif waves.has(match.start()):
            yield Edit(start=arguments[0][0], end=arguments[0][1], text=_ACTIVE)
            yield from _count_wave(unit, match)
        else:
            yield Edit(start=arguments[0][0], end=arguments[0][1], text=_OWN_LANES)
            if match[1] in _BITS:
                yield from _narrow(match.start(), arguments[-1][1] + 1)


def _edit_shuffle(arguments: tuple[tuple[int, int], ...], width: str) -> Iterator[Edit]:
    yield Edit(start=arguments[0][0], end=arguments[0][1], text=_ACTIVE)
    if len(arguments) == _SHUFFLE_ARGUMENTS:
        yield Edit(start=arguments[-1][1], end=arguments[-1][1], text=f", {width}")


def _count_wave(unit: Unit, match: re.Match[str]) -> Iterator[Edit]:
    """__popc and __ffs of a ballot of the wave count its 64 bits."""
    counted = _COUNTED.search(unit.text, max(0, match.start() - _NEAR), match.start())
    if match[1] in _BITS and counted:
        yield Edit(start=counted.end(1), end=counted.end(1), text="ll")


def _narrow(start: int, end: int) -> Iterator[Edit]:
    """The 32 bits of the caller's lanes."""
    yield Edit(start=start, end=start, text="static_cast<unsigned int>(")
    yield Edit(start=end, end=end, text=f" >> {_FIRST})")
