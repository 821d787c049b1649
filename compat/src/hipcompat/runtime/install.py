"""A choice of shims → sys.modules with them, announced once on stderr; uninstall() takes them out again."""

from __future__ import annotations

import sys
from types import ModuleType

from hipcompat.runtime.nvml.module import make_module

_NAME = "pynvml"
_state: dict[str, ModuleType | None] = {}
"""Shims that are in place, each with the module that it has replaced."""
_announced: set[str] = set()


def install(*, pynvml: bool = False) -> None:
    """Put the chosen shims into this process; twice is once.

    `pynvml`: who imports pynvml from now on gets one that asks amdsmi. Who has imported it already keeps what it has.
    """
    if pynvml and _NAME not in _state:
        _state[_NAME] = sys.modules.get(_NAME)
        sys.modules[_NAME] = make_module(_NAME)
        _announce(_NAME, "pynvml is answered by amdsmi in this process; hipcompat.uninstall() undoes it")


def uninstall() -> None:
    """Take out what install() has put in: what was imported before is there again."""
    while _state:
        name, before = _state.popitem()
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before


def list_installed() -> tuple[str, ...]:
    """The shims that are in place."""
    return tuple(sorted(_state))


def _announce(name: str, text: str) -> None:
    if name not in _announced:
        _announced.add(name)
        sys.stderr.write(f"hipcompat: {text}\n")
