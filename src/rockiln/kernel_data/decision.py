"""What `judge` says of one file: Kept, Drop or CutBundle, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


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


Decision = Kept | Drop | CutBundle
