"""Sets of lanes as Boolean functions of unknown masks: which lanes are active, which hold what they should.

A function is the number of a node of a reduced ordered decision diagram (Bryant, "Graph-Based Algorithms for Boolean
Function Manipulation", 1986), so equal functions are equal numbers. An atom is a mask that nothing is known of.
"""

from __future__ import annotations

from collections.abc import Hashable

NONE, ALL = 0, 1


class Lanes:
    """All functions of one analysis."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, int, int]] = [(1 << 60, 0, 0), (1 << 60, 1, 1)]
        self._unique: dict[tuple[int, int, int], int] = {}
        self._choices: dict[tuple[int, int, int], int] = {}
        self._atoms: dict[Hashable, int] = {}
        self._owners: list[frozenset[int]] = []

    def atom(self, key: Hashable, *owners: int) -> int:
        """The mask of this name; every run of one of the blocks `owners` makes it anew, if there are any."""
        if key not in self._atoms:
            self._atoms[key] = len(self._owners)
            self._owners.append(frozenset(owners))
        return self._make(self._atoms[key], NONE, ALL)

    def _make(self, level: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = (level, low, high)
        if key not in self._unique:
            self._unique[key] = len(self._nodes)
            self._nodes.append(key)
        return self._unique[key]

    def choose(self, test: int, yes: int, no: int) -> int:
        """`yes` in the lanes of `test`, `no` in the others."""
        if test == ALL or yes == no:
            return yes
        if test == NONE:
            return no
        key = (test, yes, no)
        if key not in self._choices:
            level = min(self._nodes[test][0], self._nodes[yes][0], self._nodes[no][0])
            (test_low, test_high), (yes_low, yes_high), (no_low, no_high) = (self._split(f, level) for f in key)
            low, high = self.choose(test_low, yes_low, no_low), self.choose(test_high, yes_high, no_high)
            self._choices[key] = self._make(level, low, high)
        return self._choices[key]

    def _split(self, function: int, level: int) -> tuple[int, int]:
        own, low, high = self._nodes[function]
        return (low, high) if own == level else (function, function)

    def both(self, a: int, b: int) -> int:
        """Lanes of a and of b."""
        return self.choose(a, b, NONE)

    def either(self, a: int, b: int) -> int:
        """Lanes of a or of b."""
        return self.choose(a, ALL, b)

    def without(self, a: int) -> int:
        """All other lanes."""
        return self.choose(a, NONE, ALL)

    def same(self, a: int, b: int) -> int:
        """Lanes that are in both or in neither."""
        return self.choose(a, b, self.without(b))

    def holds(self, a: int, b: int) -> bool:
        """Whether every lane of a is one of b."""
        return self.choose(a, b, ALL) == ALL

    def mentions(self, function: int, blocks: frozenset[int]) -> bool:
        """Whether it depends on a mask that one of these blocks makes."""
        if function in (NONE, ALL):
            return False
        level, low, high = self._nodes[function]
        return bool(self._owners[level] & blocks) or self.mentions(low, blocks) or self.mentions(high, blocks)

    def certain(self, function: int, blocks: frozenset[int]) -> int:
        """The lanes that are in it whatever the masks are that these blocks make."""
        if function in (NONE, ALL):
            return function
        level, low, high = self._nodes[function]
        low, high = self.certain(low, blocks), self.certain(high, blocks)
        if self._owners[level] & blocks:
            return self.both(low, high)
        return self.choose(self._make(level, NONE, ALL), high, low)
