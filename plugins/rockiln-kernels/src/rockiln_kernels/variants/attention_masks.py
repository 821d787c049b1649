"""Widths of heads and the mask's scalars → constants, requirements and formulas that attention's variants share."""

from __future__ import annotations

from rockiln_kernels.variant import Constant, Requirement

PARTS = {64: (64, 0), 80: (64, 16), 128: (128, 0), 192: (128, 64)}
"""A head's width → the powers of two that it is cut into."""
WIDTHS = ((64, 64), (80, 80), (128, 128), (192, 128))
"""Of q and k, and of v."""
NO_LIMIT = 1 << 30

WINDOW_LEFT = f"window_left + (window_left < 0) * {NO_LIMIT}"
WINDOW_RIGHT = f"(1 - causal) * {NO_LIMIT}"


def require_widths(d: int, dv: int) -> Requirement:
    """The widths are constants of the code."""
    return Requirement(formula=f"D == {d} and DV == {dv}", reason=f"is for heads of {d} (q, k) and {dv} (v)")


def split_widths(d: int, dv: int) -> tuple[tuple[str, Constant], ...]:
    """D1, D2, V1 and V2."""
    return tuple(zip(("D1", "D2", "V1", "V2"), (*PARTS[d], *PARTS[dv]), strict=True))
