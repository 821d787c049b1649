"""How ops are written in JAX: rockiln_kernels' OpForm, and what is no number for it. Pure, and imports no JAX."""

from __future__ import annotations

from typing import Any

from rockiln_kernels.forms import OpForm, describe_op, make_form

__all__ = ["OpForm", "describe_op", "make_form", "name_symbol"]


def name_symbol(value: Any) -> str:
    """What JAX calls a value that is not known before the program runs, "" of others."""
    return "traced" if hasattr(value, "aval") else ""
