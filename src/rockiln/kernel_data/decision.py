"""What `judge` says of one file: Kept, Drop, CutBundle or CutRows, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The file stays as it is."""

    rule: str
    """Kind of data: "rocblas", "miopen", … or "code-object" for kernels outside of any known folder."""
    reason: str
    is_doubt: bool = False
    """It stays because something about it was not understood, not because a kept arch needs it."""
    archs: frozenset[str] = frozenset()
    """Kept archs that it serves; empty where it serves all, or where that is not known."""
    foreign: tuple[str, ...] = ()
    """Where all its code is for other GPUs, but its name tells none: what the code is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The file goes: name and content say that no kept arch can use it."""

    rule: str
    reason: str
    targets: tuple[str, ...]
    """What it is for, as the file says: "gfx90a:xnack+", "gfx11xx"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutBundle:
    """A bundle outside of an ELF file: some of its entries go."""

    rule: str
    kept: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CutRows:
    """A database with rows for each arch: which of them go is seen when it is cut."""

    rule: str


Decision = Kept | Drop | CutBundle | CutRows


def form_of(decision: Decision) -> Literal["bundle", "database"] | None:
    """How the file is to be cut, if it is."""
    return "bundle" if isinstance(decision, CutBundle) else "database" if isinstance(decision, CutRows) else None
