"""What is known at one place of two runs of a kernel, with an instruction and without it, that went the same way.

Half a vector register (twice its number, and one more for the high half) agrees in the lanes that `vectors` names, in
all where it names none; a scalar one where `numbers` does not hold it. Masks and EXEC are pairs, the first run's and
the second's, of functions of atoms. A word says when two registers must hold the same in the first run.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from harness.lockstep.lanes import ALL, NONE, Lanes

EXEC = 126
"""Its low half's number as a scalar register."""


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask in the first run and in the second."""

    first: int
    second: int


@dataclass(slots=True)
class State:
    """One place in the code. `words`: what a vector register holds, in which lanes; `bits`: which bits may be set."""

    vectors: dict[int, int] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)
    masks: dict[int, Mask] = field(default_factory=dict)
    words: dict[int, tuple[Hashable, int]] = field(default_factory=dict)
    scalar_words: dict[int, Hashable] = field(default_factory=dict)
    bits: dict[int, int] = field(default_factory=dict)
    active: Mask = Mask(ALL, ALL)
    condition_agrees: bool = True
    shared_agrees: bool = True
    condition: bool | None = None
    """SCC in the first run, where it is known."""
    none: int = NONE
    """Lanes that there are none of, as a branch on EXEC has told."""

    def copy(self) -> State:
        """One that can be changed alone."""
        return State(
            dict(self.vectors), set(self.numbers), dict(self.masks), dict(self.words), dict(self.scalar_words),
            dict(self.bits), self.active, self.condition_agrees, self.shared_agrees,
            self.condition, self.none,
        )  # fmt: skip


def join(lanes: Lanes, block: int, old: State, new: State) -> State:
    """What holds whichever way the block was reached; masks that differ become an atom of the block."""
    return State(
        {reg: lanes.both(old.vectors.get(reg, ALL), new.vectors.get(reg, ALL)) for reg in {*old.vectors, *new.vectors}},
        old.numbers | new.numbers,
        {
            reg: _join_masks(lanes, block, reg, *_liken(lanes, reg, old, new, old.masks.get(reg), new.masks.get(reg)))
            for reg in {*old.masks, *new.masks}
        },
        {
            reg: (old.words[reg][0], lanes.both(old.words[reg][1], new.words[reg][1]))
            for reg in old.words.keys() & new.words.keys()
            if old.words[reg][0] == new.words[reg][0]
        },
        {reg: word for reg, word in old.scalar_words.items() if new.scalar_words.get(reg) == word},
        {reg: old.bits[reg] | new.bits[reg] for reg in old.bits.keys() & new.bits.keys()},
        _join_masks(lanes, block, EXEC, *_liken(lanes, EXEC, old, new, old.active, new.active)),
        old.condition_agrees and new.condition_agrees,
        old.shared_agrees and new.shared_agrees,
        old.condition if old.condition == new.condition else None,
        lanes.both(old.none, new.none),
    )


def _liken(lanes: Lanes, reg: int, old: State, new: State, left: Mask | None, right: Mask | None) -> tuple[Mask, Mask]:
    """Two ways' masks, each as the other's where that differs only in lanes that there are none of on its own way."""
    entry = lanes.atom(("entry", reg))
    left, right = left or Mask(entry, entry), right or Mask(entry, entry)
    if left == right or old.none == new.none == NONE:
        return left, right
    first, again = _liken_sides(lanes, old, new, left.first, right.first)
    second, other = _liken_sides(lanes, old, new, left.second, right.second)
    return Mask(first, second), Mask(again, other)


def _liken_sides(lanes: Lanes, old: State, new: State, left: int, right: int) -> tuple[int, int]:
    differs = lanes.without(lanes.same(left, right))
    if lanes.holds(differs, old.none):
        return right, right
    return (left, left) if lanes.holds(differs, new.none) else (left, right)


def _join_masks(lanes: Lanes, block: int, reg: int, old: Mask, new: Mask) -> Mask:
    if old == new:
        return old
    first = old.first if old.first == new.first else lanes.atom(("join", block, reg), block)
    agree = lanes.both(lanes.same(old.first, old.second), lanes.same(new.first, new.second))
    other = lanes.atom(("join again", block, reg), block)
    if lanes.holds(old.second, old.first) and lanes.holds(new.second, new.first):
        other = lanes.both(first, other)
    return Mask(first, lanes.choose(agree, first, other))


def empty(lanes: Lanes, state: State) -> State:
    """The same where no lane is active: what would hold but in the active lanes holds in all."""
    own = state.copy()
    own.vectors = {reg: lanes.either(agree, own.active.first) for reg, agree in own.vectors.items()}
    own.words = {reg: (word, lanes.either(where, own.active.first)) for reg, (word, where) in own.words.items()}
    return own


def leave_none(lanes: Lanes, state: State) -> State:
    """The same where no lane is active, whichever way one got there: masks of those lanes are empty."""
    own = state.copy()
    own.none = lanes.either(state.none, state.active.first)
    others = lanes.without(own.none)

    def clear(mask: Mask) -> Mask:
        return Mask(*(NONE if lanes.both(side, others) == NONE else side for side in (mask.first, mask.second)))

    own.masks = {reg: clear(mask) for reg, mask in state.masks.items()}
    own.active = clear(state.active)
    return own


def go_round(lanes: Lanes, state: State, cycle: frozenset[int], target: int) -> State:
    """What still holds at the start of a loop's next turn, in which the loop's own atoms are made anew."""
    return State(
        {reg: lanes.certain(own, cycle) for reg, own in state.vectors.items()},
        set(state.numbers),
        {reg: _renew(lanes, mask, cycle, (target, reg)) for reg, mask in state.masks.items()},
        {
            reg: (word, lanes.certain(own, cycle)) for reg, (word, own) in state.words.items()
            if cycle.isdisjoint(list_makers(word))
        },
        {reg: word for reg, word in state.scalar_words.items() if cycle.isdisjoint(list_makers(word))},
        dict(state.bits),
        _renew(lanes, state.active, cycle, (target, EXEC)),
        state.condition_agrees,
        state.shared_agrees,
        state.condition,
        lanes.certain(state.none, cycle),
    )  # fmt: skip


def _renew(lanes: Lanes, mask: Mask, cycle: frozenset[int], place: tuple[int, int]) -> Mask:
    if not (lanes.mentions(mask.first, cycle) or lanes.mentions(mask.second, cycle)):
        return mask
    first = lanes.atom(("round", *place), place[0])
    return Mask(first, first if mask.first == mask.second else lanes.atom(("round again", *place), place[0]))


def list_makers(word: Hashable) -> set[int]:
    """Blocks of which every run makes anew what a word stands for."""
    if not isinstance(word, tuple):
        return set()
    if word[0] == "made":
        return {word[1]}
    return {block for part in word[1:] for block in list_makers(part)}
