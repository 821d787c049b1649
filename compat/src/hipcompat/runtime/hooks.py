"""A choice of parts → a Handle that names what was hooked and what was not, and takes it out again.

This module is imported by plugins while their framework starts: nothing is imported here that a part alone needs, and
its values are NamedTuples, since dataclasses would bring inspect, tokenize and ast (half of a bare Python's 10 ms).
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from hipcompat.runtime import notes

if TYPE_CHECKING:
    from types import TracebackType


class Hook(NamedTuple):
    """One place of the process that is changed. `target`: its dotted name."""

    part: str
    target: str
    what: str


class Skipped(NamedTuple):
    """A part that was asked for and is not in place, and why."""

    part: str
    reason: str


class _Part(Protocol):
    """A module that changes this process: targets() before put_in(), once; take_out() once after it."""

    ANNOUNCEMENT: str
    """One line for stderr; "" for a part that says nothing."""

    def find_obstacle(self) -> str:
        """Why it cannot be put in here; "" for no reason."""

    def list_targets(self) -> tuple[tuple[str, str], ...]:
        """Dotted name and what becomes of it, for each place."""

    def put_in(self) -> None:
        """Change the process."""

    def take_out(self) -> None:
        """Put back what was there, except where somebody else has put something over it."""


_MODULES = {"errors": "notes", "extensions": "extensions", "pynvml": "nvml.shim"}
_lock = threading.RLock()
_users: dict[str, int] = {}
"""Part → handles that hold it: it is taken out with the last of them."""
_announced: set[str] = set()


class Handle:
    """What one enable() did: `hooked` and `skipped`. A context manager: leaving it undoes it."""

    __slots__ = ("_launches", "_parts", "hooked", "skipped")

    def __init__(
        self, hooked: tuple[Hook, ...], skipped: tuple[Skipped, ...], launches: notes.Launches | None = None
    ) -> None:
        self.hooked, self.skipped, self._launches = hooked, skipped, launches
        self._parts = tuple(dict.fromkeys(hook.part for hook in hooked))

    @property
    def is_active(self) -> bool:
        """Whether undo() has something to undo."""
        return bool(self._parts)

    def explain(self) -> str:
        """A line a hook and a skipped part."""
        lines = [f"{one.part}: {one.target}: {one.what}" for one in self.hooked]
        return "\n".join([*lines, *(f"{one.part}: not in place: {one.reason}" for one in self.skipped)])

    def undo(self) -> None:
        """Give back what was there before, once no other handle needs it. A second time nothing happens."""
        with _lock:
            parts, self._parts = self._parts, ()
            for name in reversed(parts):
                _users[name] -= 1
                if not _users[name]:
                    _find_part(name).take_out()
            if self._launches is not None:
                notes.forget_launches(self._launches)
                self._launches = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and "errors" in self._parts:
            notes.add_note(error)  # what is uncaught is shown after this
        self.undo()


def enable(
    *, errors: bool = True, extensions: bool = False, pynvml: bool = False, launches: notes.Launches | None = None
) -> Handle:
    """Put the chosen parts into this process; docs/compat-runtime.md lists what each hooks.

    Never raises for want of ROCm, a framework, amdsmi or a GPU: what cannot be put in is in `skipped`. `launches` gives
    lines about recent kernel launches, the latest first, for the note that `errors` adds to a HIP error.
    """
    wanted = [name for name, is_on in (("errors", errors), ("extensions", extensions), ("pynvml", pynvml)) if is_on]
    hooked: list[Hook] = []
    skipped: list[Skipped] = []
    with _lock:
        for name in wanted:
            reason = _put_in(name)
            if reason:
                skipped.append(Skipped(part=name, reason=reason))
            else:
                hooked += [Hook(part=name, target=at, what=what) for at, what in _find_part(name).list_targets()]
        if launches is not None:
            notes.remember_launches(launches)
        return Handle(tuple(hooked), tuple(skipped), launches)


def _put_in(name: str) -> str:
    """Why not; "" where it is in place now."""
    part = _find_part(name)
    if not _users.get(name):
        reason = part.find_obstacle()
        if reason:
            return reason
        part.put_in()
        if part.ANNOUNCEMENT and name not in _announced:
            _announced.add(name)
            sys.stderr.write(f"hipcompat: {part.ANNOUNCEMENT}\n")
    _users[name] = _users.get(name, 0) + 1
    return ""


def _find_part(name: str) -> _Part:
    return import_module(f"hipcompat.runtime.{_MODULES[name]}")  # a module has the form
