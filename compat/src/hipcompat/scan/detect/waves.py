"""Unit → where it counts lanes by warpSize, itself or by a caller's argument: shuffles and votes span waves there."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator

from hipcompat.scan.detect.masks import is_narrow_mask, spans_wave
from hipcompat.scan.detect.patterns import BALLOT
from hipcompat.scan.detect.surroundings import is_full_mask
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import find_function, is_inside, split_arguments
from hipcompat.scan.rule import Hit, Hits

_WARPSIZE = re.compile(r"(?<!\.)(?<!->)\bwarpSize\b")
_MACRO = re.compile(r"#[ \t]*define[ \t]+([A-Za-z_]\w*)(?:[ \t(][^\n]*)?\bwarpSize\b")
_WHOLE = re.compile(
    r"(?<![\w.])__(shfl(?:_up|_down|_xor)?|any|all|reduce_\w+|ballot|match_any|match_all)(?:_sync)?(?=\s*\()"
)
_MASKS = frozenset(("ballot", "match_any", "match_all"))
_WIDE = re.compile(r"\b(?:unsigned\s+long\s+long|uint64_t|u64|auto|__(?:popc|ffs|clz|brev)ll)\b")
_NOT_CALLED = frozenset(("if", "for", "while", "switch", "return", "sizeof", "min", "max", "assert", "int", "unsigned"))
_BRACKETS = re.compile(r"[()]|,|[;{}]")
_LAST_WORD = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^;{}()<>]*>\s*)?$")
_WITHOUT_WIDTH = 3
_MOST_MACROS = 50
_MOST_CALLS = 500
_ROUNDS = 3
_BACK = 300


class Waves:
    """Where a unit speaks of warpSize, by itself or through its own macros; prop.warpSize on the host is not it.

    A function that is called with warpSize counts, too, and one that it hands that parameter on to.
    """

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._bodies = unit.bodies
        self._places: list[int] = []
        self._called: set[int] = set()
        if "warpSize" in unit.text:
            names = sorted({match[1] for match in _MACRO.finditer(unit.text)})[:_MOST_MACROS]
            macros = re.compile(rf"\b(?:{'|'.join(names)})\b") if names else None
            self._places += [match.start() for match in _WARPSIZE.finditer(unit.text)]
            self._places += [match.start() for match in macros.finditer(unit.text)] if macros else []
            self._places.sort()
            self._follow_calls()

    def has(self, offset: int) -> bool:
        """The device function around `offset` does; outside of any (a macro, a plain template), the file does."""
        at = bisect.bisect_right(self._bodies, offset, key=lambda body: body[0]) - 1
        if at < 0 or offset >= self._bodies[at][1]:
            return bool(self._places)
        start, end = self._bodies[at]
        first = bisect.bisect_left(self._places, start)
        return at in self._called or (first < len(self._places) and self._places[first] < end)

    def _follow_calls(self) -> None:
        """Bodies of functions that get warpSize as an argument."""
        calls = set(_find_calls(self._unit.text, self._places))
        if not calls:
            return
        functions: dict[str, list[tuple[int, int]]] = {}
        for at, (start, _) in enumerate(self._bodies):
            name, opening = find_function(self._unit.text, start)
            functions.setdefault(name, []).append((at, opening))
        for _ in range(_ROUNDS):
            more: set[tuple[str, int]] = set()
            for name, place in calls:
                for at, opening in functions.get(name, ()):
                    if at not in self._called:
                        self._called.add(at)
                        more |= self._hand_on(at, opening, place)
            calls = more

    def _hand_on(self, at: int, opening: int, place: int) -> set[tuple[str, int]]:
        """Calls in a body with its parameter at `place`."""
        text = self._unit.text
        parameters = split_arguments(text, opening)
        if place >= len(parameters):
            return set()
        name = re.search(r"(\w+)\s*(?:=[^=]*)?$", text[slice(*parameters[place])])
        if name is None:
            return set()
        uses = (match.start() for match in re.compile(rf"\b{name[1]}\b").finditer(text, *self._bodies[at]))
        return set(_find_calls(text, uses))


def _find_calls(text: str, places: Iterable[int]) -> Iterator[tuple[str, int]]:
    """The function that each place is directly an argument of, and which argument."""
    for count, place in enumerate(places):
        if count >= _MOST_CALLS:
            return
        depth = commas = 0
        for match in reversed(list(_BRACKETS.finditer(text, max(0, place - _BACK), place))):
            sign = match.group()
            if sign in ";{}":
                break
            depth += {")": 1, "(": -1}.get(sign, 0)
            commas += sign == "," and not depth
            if depth < 0:
                name = _LAST_WORD.search(text, max(0, match.start() - _BACK), match.start())
                if name and name[1] not in _NOT_CALLED:
                    yield name[1], commas
                break


def find_wave_hits(unit: Unit) -> Hits:
    """Shuffles and votes for 32 lanes, of which hipcompat's headers cannot tell that they span the wave."""
    if "warpSize" not in unit.text:
        return
    waves = Waves(unit)
    told = tuple(match.span() for match in BALLOT.finditer(unit.text))
    for match in _WHOLE.finditer(unit.text):
        if not waves.has(match.start()):
            continue
        if match[1] in _MASKS:
            if not is_inside(told, match.start()) and not _is_kept_whole(unit.text, match.start()):
                yield Hit(rule="ballot-32", start=match.start(), end=match.end(), detail=match.group())
            continue
        arguments = split_arguments(unit.text, unit.text.index("(", match.end()))
        is_short = len(arguments) == _WITHOUT_WIDTH or not match[1].startswith("shfl")
        if not arguments or not match.group().endswith("_sync"):
            continue
        if is_narrow_mask(unit, *arguments[0], is_wave=True) and spans_wave(unit, match[1], arguments):
            yield Hit(rule="wave-mask", start=match.start(), end=match.end(), detail=match.group())
        elif is_short and is_full_mask(unit, *arguments[0]):
            yield Hit(rule="wave-width", start=match.start(), end=match.end(), detail=match.group())


def _is_kept_whole(text: str, start: int) -> bool:
    """What stands before it in its statement holds, or counts, 64 bits."""
    statement = re.split(r"[;{}]", text[max(0, start - _BACK) : start])[-1]
    return _WIDE.search(statement) is not None
