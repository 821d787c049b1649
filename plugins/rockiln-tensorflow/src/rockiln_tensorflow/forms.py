"""How ops are written in TensorFlow: rockiln_kernels' OpForm, and TensorFlow's names. Imports no TensorFlow."""

from __future__ import annotations

from typing import Any

from rockiln_kernels.forms import OpForm, describe_array, describe_op, make_form

__all__ = ["OpForm", "describe_array", "describe_op", "make_form", "name_op_type", "name_symbol"]


def name_op_type(op: str) -> str:
    """The op's name in TensorFlow's registry: RockilnRmsNorm."""
    return "Rockiln" + "".join(part.capitalize() for part in op.split("_"))


def name_symbol(value: Any) -> str:
    """What TensorFlow calls a value that is not known before the program runs, "" of others."""
    return "a symbolic tensor" if hasattr(value, "graph") and not hasattr(value, "numpy") else ""
