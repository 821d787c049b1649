"""Comparisons whose outcomes hang together: what is above x | 128 is above x.

Numbers are known by words: two registers with the same word hold the same. A word ("or", x, c) is x | c for a constant
c whose sign bit is clear. It is at least x, signed and unsigned, as a bit that is set only adds. And it is at least
x | d for d <= c where x has none of c's bits: x | c is x + c then, and x | d is at most x + d.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

from gfxemu.micro import VECTOR

from harness.lockstep.flow import LANE_CONTROLS, Step, has_modifiers
from harness.lockstep.lanes import ALL
from harness.lockstep.masks import Masks
from harness.lockstep.state import State, list_makers

ABOVE = re.compile(r"v_cmp_(gt|lt)_([iu])32")
WHOLE = (1 << 32) - 1
DEEPEST = 6

Known = tuple[Hashable, int] | None


class Order:
    """Names results and comparisons; `threads` is the size of a workgroup, a power of two."""

    def __init__(self, masks: Masks, threads: int) -> None:
        self.masks, self.lanes, self.threads = masks, masks.lanes, threads
        self._outcomes: dict[Hashable, dict[int, int]] = {}

    def name(self, op: str, sources: Sequence[Known]) -> Known:
        """The word of a pure op's result, and where it holds."""
        words, where = [], ALL
        for item in sources:
            if item is None or _count_depth(item[0]) > DEEPEST:
                return None
            words.append(item[0])
            where = self.lanes.both(where, item[1])
        word = name_result(op, words)
        return (word, where) if word is not None else None

    def compare(self, state: State, step: Step) -> int:
        """The outcome in every lane, as a mask before EXEC."""
        micro = step.micro
        own = self.lanes.atom(("compared", step.place), self.masks.block)
        match = ABOVE.fullmatch(micro.op)
        if match is None or micro.flags & LANE_CONTROLS or has_modifiers(micro):
            return own
        sources = [self.word(state, slot) for slot in micro.src[:2]]
        high, low = sources if match[1] == "gt" else sources[::-1]
        if high is None or low is None:
            return own
        outcome = self._above(match[2], high[0], low[0])
        return self.lanes.choose(self.lanes.both(high[1], low[1]), outcome, own)

    def _above(self, kind: str, high: Hashable, low: Hashable) -> int:
        base, own = _split(low)
        known = self._outcomes.setdefault((kind, high, base), {})
        if own not in known:
            bits, lanes = self._find_bits(base), self.lanes
            value = lanes.atom(("above", kind, high, low), *(list_makers(high) | list_makers(low)))
            for other, outcome in known.items():
                if _is_least(own, other, bits):
                    value = lanes.both(value, outcome)
            for other, outcome in known.items():
                if _is_least(other, own, bits):
                    value = lanes.either(value, outcome)
            known[own] = value
        return known[own]

    def word(self, state: State, slot: Any) -> Known:
        """What a 32-bit operand holds, and in which lanes; None: nothing is known."""
        if slot[0] == VECTOR:
            return state.words.get(slot[2]) if slot[1] == 1 else None
        known = self.masks.word(state, slot)
        return (known, ALL) if known is not None else None

    def _find_bits(self, word: Hashable) -> int:  # noqa: PLR0911  # one return a kind
        """Bits that may be set."""
        if word == ("entry", "v0"):
            return self.threads - 1  # the number of a thread, blocks having one dimension
        if not isinstance(word, tuple):
            return WHOLE
        if word[0] == "constant":
            return int(word[1])
        if word[0] == "or":
            return self._find_bits(word[1]) | int(word[2])
        if word[0] == "any of":
            return self._find_bits(word[1]) | self._find_bits(word[2])
        if word[0] == "masked":
            return self._find_bits(word[1]) & int(word[2])
        if word[0] == "left":
            return self._find_bits(word[1]) << int(word[2]) & WHOLE
        return self._find_bits(word[1]) >> int(word[2]) if word[0] == "right" else WHOLE


def name_result(op: str, words: Sequence[Hashable]) -> Hashable | None:  # noqa: PLR0911  # one return an op
    """The word of `op` of these words; None where the op is not one of those that indices are made of."""
    if op == "v_or_b32":
        return _join(words[0], words[1])
    if op == "v_or3_b32":
        return _join(_join(words[0], words[1]), words[2])
    if op == "v_lshl_or_b32":
        moved = _shift(words[0], words[1])
        return _join(moved, words[2]) if moved is not None else None
    if op == "v_and_or_b32":
        kept = _mask(words[0], words[1])
        return _join(kept, words[2]) if kept is not None else None
    if op == "v_lshlrev_b32":
        return _shift(words[1], words[0])
    if op == "v_and_b32":
        return _mask(words[0], words[1])
    amount = _constant(words[0]) if op == "v_lshrrev_b32" else None
    return ("right", words[1], amount & 31) if amount is not None else None


def _constant(word: Hashable) -> int | None:
    return int(word[1]) if isinstance(word, tuple) and word[0] == "constant" else None


def _split(word: Hashable) -> tuple[Hashable, int]:
    return (word[1], word[2]) if isinstance(word, tuple) and word[0] == "or" else (word, 0)


def _join(a: Hashable, b: Hashable) -> Hashable:
    first, second = _constant(a), _constant(b)
    if first is not None and second is not None:
        return ("constant", first | second)
    if first is not None:
        return _join(b, a)
    if second is not None:
        base, bits = _split(a)
        if (bits | second) >> 31:
            return ("any of", a, b)
        return ("or", base, bits | second) if bits | second else base
    (left, low), (right, high) = _split(a), _split(b)
    base = ("any of", *sorted((left, right), key=repr))
    return ("or", base, low | high) if low | high else base


def _shift(word: Hashable, amount: Hashable) -> Hashable | None:
    places = _constant(amount)
    if places is None:
        return None
    base, bits = _split(word)
    moved = (bits << (places & 31)) & WHOLE
    return _join(("left", base, places & 31), ("constant", moved))


def _mask(a: Hashable, b: Hashable) -> Hashable | None:
    kept, other = (_constant(a), b) if _constant(a) is not None else (_constant(b), a)
    return ("masked", other, kept) if kept is not None else None


def _is_least(large: int, small: int, bits: int) -> bool:
    """Whether x | large >= x | small for every x of these bits."""
    return small & ~large == 0 or (large & bits == 0 and large >= small)


def _count_depth(word: Hashable) -> int:
    parts = word[1:] if isinstance(word, tuple) and word[0] not in ("made", "entry") else ()
    return 1 + max((_count_depth(part) for part in parts), default=0)
