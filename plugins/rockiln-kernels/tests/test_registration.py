"""What frameworks' register() share: parts as one, taken back from the last on; whose arch is asked, and when."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rockiln_kernels.dispatch import Settings
from rockiln_kernels.registration import Registration, join_registrations, make_arch_finder, register_compat


def test_parts_are_joined_in_order_and_taken_back_from_the_last_on() -> None:
    undone: list[str] = []
    parts = (
        Registration(registered=("a",), rejected=(("b", "why"),), undoings=(lambda: undone.append("first"),)),
        Registration(registered=("c",), hooked=("d",), undoings=(lambda: undone.append("second"),)),
    )
    joined = join_registrations(parts)
    assert (joined.registered, joined.hooked, joined.rejected) == (("a", "c"), ("d",), (("b", "why"),))
    joined.undo()
    assert undone == ["second", "first"]


def test_a_named_arch_is_taken_and_without_a_driver_there_is_none() -> None:
    dispatcher = cast("Any", SimpleNamespace(settings=Settings(library=Path("/nowhere/librockiln.so"))))
    assert make_arch_finder(dispatcher, "gfx942")() == "gfx942"
    assert make_arch_finder(dispatcher, "")() == ""


def test_without_hipcompat_the_extra_that_brings_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hipcompat", None)
    [(what, reason)] = register_compat("rockiln-demo").rejected
    assert what == "compat"
    assert reason.endswith(": pip install rockiln-demo[compat]")
