"""sys.modules → with a pynvml that asks amdsmi, and back."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType

NAME = "pynvml"
ANNOUNCEMENT = "pynvml is answered by amdsmi in this process"
_put: list[tuple[ModuleType, ModuleType | None]] = []
"""Our module, and what it has replaced."""


def find_obstacle() -> str:
    """Without amdsmi there is nobody to ask. It is not imported: that fails where its library is missing."""
    if "amdsmi" in sys.modules:
        return ""
    try:
        is_there = find_spec("amdsmi") is not None
    except (ImportError, ValueError):
        is_there = False
    return "" if is_there else "amdsmi is not installed: pynvml stays what it is"


def list_targets() -> tuple[tuple[str, str], ...]:
    """The module's name."""
    return ((f"sys.modules[{NAME!r}]", "who imports pynvml from now on gets one that asks amdsmi"),)


def put_in() -> None:
    """Who has imported pynvml already keeps what it has."""
    from hipcompat.runtime.nvml.module import make_module  # 2,000 names: only who asks for them waits

    module = make_module(NAME)
    _put.append((module, sys.modules.get(NAME)))
    sys.modules[NAME] = module


def take_out() -> None:
    """What was imported before is there again, unless somebody has put another in place of ours."""
    while _put:
        module, before = _put.pop()
        if sys.modules.get(NAME) is not module:
            continue
        if before is None:
            del sys.modules[NAME]
        else:
            sys.modules[NAME] = before
