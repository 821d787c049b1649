"""One nvcc option → how it is written, what takes its place, and what a person should know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["kept", "replaced", "dropped", "refused"]
"""refused: what the option asks for does not exist here, and leaving it out does not give the same thing."""

Choice = tuple[Kind, tuple[str, ...], str]
"""What becomes of one value: kind, clang's arguments, the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of nvcc. `{}` in `gives` stands for the value; `choose` decides by value, where that matters."""

    names: tuple[str, ...]
    kind: Kind
    gives: tuple[str, ...] = ()
    reason: str = ""
    takes_value: bool = False
    joined: bool = False
    """-DNAME and -D NAME mean the same."""
    splits: bool = False
    """A comma separates values."""
    choose: Callable[[str], Choice] | None = None
    next_values: frozenset[str] = frozenset()
    """Not empty: the next word is the value only where it is made of these; else the option stands alone."""
    takes_options: bool = False
    """The value may begin with a dash: it is an option of another program."""

    def translate(self, value: str) -> Choice:
        """One value of this option → what becomes of it."""
        if self.choose:
            return self.choose(value)
        return self.kind, tuple(part.replace("{}", value) for part in self.gives), self.reason


def keep(*names: str, gives: str = "", reason: str = "") -> Option:
    """clang has the same switch, under the name `gives` or the last of `names`."""
    arguments = tuple((gives or names[-1]).split())
    return Option(names=names, kind="replaced" if gives else "kept", gives=arguments, reason=reason)


def keep_value(*names: str, gives: str, joined: bool = False, splits: bool = False) -> Option:
    """clang takes the same value."""
    return Option(names=names, kind="kept", gives=tuple(gives.split()), takes_value=True, joined=joined, splits=splits)


def drop(*names: str, reason: str, value: bool = False, splits: bool = False) -> Option:
    """Leaving it out changes nothing that the program can see."""
    return Option(names=names, kind="dropped", reason=reason, takes_value=value, splits=splits)


def refuse(*names: str, reason: str, value: bool = False) -> Option:
    """Leaving it out gives something else than was asked for."""
    return Option(names=names, kind="refused", reason=reason, takes_value=value)


def choose_by_value(
    *names: str, choose: Callable[[str], Choice], joined: bool = False, splits: bool = False,
    next_values: frozenset[str] = frozenset(),
) -> Option:  # fmt: skip
    """The value decides."""
    return Option(
        names=names, kind="kept", takes_value=True, joined=joined, splits=splits, choose=choose, next_values=next_values
    )
