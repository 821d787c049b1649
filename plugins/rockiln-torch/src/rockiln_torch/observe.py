"""Who wants to know of calls → note_call tells them. Nobody asks while nobody observes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCall:
    """One call that was run: by whom, why, and of what."""

    op: str
    provider: str
    """pack, aiter, cpu or framework."""
    kernel: str
    """Key of the pack's variant, AITER's function, "cpu.OP.LEVEL", or "framework.OP"."""
    reason: str
    call: str
    """Shapes, dtypes and scalars: "x=bf16[4,4096] weight=bf16[4096] eps=1e-06"."""


Observer = Callable[[ObservedCall], None]
observers: list[Observer] = []
"""Those that are told; profile() adds and removes its own."""


def note_call(call: ObservedCall) -> None:
    """Tell everybody who observes."""
    for observer in tuple(observers):
        observer(call)
