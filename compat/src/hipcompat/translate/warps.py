"""Unit → edits of what speaks of a warp: HIP's masks have 64 bits and must name exactly the active lanes.

A full mask means "whoever is here" in CUDA, 32 lanes at most: a shuffle gets the active mask and a width of 32 (of
warpSize where its function counts lanes by warpSize: its groups are whole waves); a vote gets the active lanes of the
caller's 32, so that it gives the same answer on wavefronts of 64, or, where lanes are counted by warpSize, of the wave.
__activemask() and the calls without a mask mean the same, where the code is not HIP's own. A mask that has 32 bits by
what the file declares is moved to the caller's 32 lanes, except where lanes are counted by warpSize.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipcompat.scan.detect.lanes import CALL, Lanes
from hipcompat.scan.detect.masks import is_active_mask, is_narrow_mask, spans_wave
from hipcompat.scan.detect.surroundings import is_full_mask
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import split_arguments, trim
from hipcompat.translate.edit import Edit

_NUMBER = re.compile(r"(0[xX][\da-fA-F']+|0|[1-9][\d']*)[uUlL]*$")
_FIRST = "(__lane_id() & 32)"
_ACTIVE = "__activemask()"
_OWN_LANES = f"{_ACTIVE} & (0xffffffffull << {_FIRST})"
_SHUFFLE_ARGUMENTS = 3
_COUNTED = re.compile(r"(?<![\w.])(__popc|__ffs)\s*\(\s*$")
_NEAR = 40
_BITS = frozenset(("ballot", "match_any", "match_all"))


def find_mask_edits(unit: Unit) -> Iterator[Edit]:
    """Offsets are those of unit.text."""
    lanes = Lanes(unit)
    waves, own = lanes.waves, lanes.own
    seen = set[int]()
    for match in CALL.finditer(unit.text):
        arguments = split_arguments(unit.text, match.end() - 1)
        if not arguments:
            continue
        mask = trim(unit.text, *arguments[0])
        is_active, is_wave = is_active_mask(unit, *mask), waves.has(match.start())
        if is_full_mask(unit, *mask) or (is_active and not own.has(match.start())):
            seen.add(mask[0])
            yield from _edit_full(unit, match, mask, arguments, is_wave=is_wave)
        elif not (is_wave and spans_wave(unit, match[1], arguments)) and is_narrow_mask(unit, *mask, is_wave=is_wave):
            yield from _edit_narrow(unit, match, mask, arguments)
    for alone in lanes.find_alone():
        if alone.start() not in seen:
            yield from _narrow(alone.start(), alone.end())
    yield from _find_legacy_edits(lanes)


def _edit_full(
    unit: Unit, match: re.Match[str], mask: tuple[int, int], arguments: tuple[tuple[int, int], ...], *, is_wave: bool
) -> Iterator[Edit]:
    if match[1] is None:
        yield Edit(start=mask[0], end=mask[1], text="")
    elif match[1].startswith("shfl"):
        yield Edit(start=mask[0], end=mask[1], text=_ACTIVE)
        yield from _add_width(arguments, "warpSize" if is_wave else "32")
    elif is_wave:
        yield Edit(start=mask[0], end=mask[1], text=_ACTIVE)
        yield from _count_wave(unit, match)
    else:
        yield Edit(start=mask[0], end=mask[1], text=_OWN_LANES)
        if match[1] in _BITS:
            yield from _narrow(match.start(), arguments[-1][1] + 1)


def _edit_narrow(
    unit: Unit, match: re.Match[str], mask: tuple[int, int], arguments: tuple[tuple[int, int], ...]
) -> Iterator[Edit]:
    start, end = mask
    if match[1] is None:
        yield Edit(start=start, end=end, text="")
        return
    if number := _NUMBER.match(unit.text, start, end):
        yield Edit(start=start, end=end, text=f"{number[1]}ull << {_FIRST}")
    else:
        yield Edit(start=start, end=start, text="static_cast<unsigned long long>(static_cast<unsigned int>(")
        yield Edit(start=end, end=end, text=f")) << {_FIRST}")
    if match[1].startswith("shfl"):
        yield from _add_width(arguments, "32")
    elif match[1] in _BITS:
        yield from _narrow(match.start(), arguments[-1][1] + 1)


def _add_width(arguments: tuple[tuple[int, int], ...], width: str) -> Iterator[Edit]:
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


def _find_legacy_edits(lanes: Lanes) -> Iterator[Edit]:
    """Shuffles and votes of before CUDA 9, which have no mask."""
    for match, arguments in lanes.find_legacy():
        if match[1].startswith("shfl"):
            yield Edit(start=arguments[-1][1], end=arguments[-1][1], text=", 32")
            continue
        start, end = match.span()
        cast = "static_cast<unsigned int>(" if match[1] in _BITS else ""
        yield Edit(start=start, end=end, text=f"{cast}__{match[1]}_sync{match[2]}{_OWN_LANES}, ")
        if cast:
            yield Edit(start=arguments[-1][1] + 1, end=arguments[-1][1] + 1, text=f" >> {_FIRST})")
