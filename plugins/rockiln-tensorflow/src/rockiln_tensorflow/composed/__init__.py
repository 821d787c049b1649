"""An op's name → its composition of TensorFlow's own ops, for a CPU and for any device that no kernel serves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

Tensor = Any
"""tf.Tensor: TensorFlow's modules have no types."""
Composition = Callable[..., tuple[Tensor, ...]]


def compose(op: str) -> Composition:
    """The composition of `op`.

    It takes the op's inputs in the spec's order (absent ones None), and by keyword its scalars and the names of dtypes
    that no input decides (Q="e4m3"); it gives a tuple in the spec's order of outputs. It runs eagerly, in tf.function
    with dims that are not known yet, and under XLA; where that makes sense, it is differentiated. It does not check its
    arguments. Raises KeyError for an op that the table lacks.
    """
    return read_compositions()[op]


@lru_cache(maxsize=1)
def read_compositions() -> dict[str, Composition]:
    """All of them, by name."""
    from rockiln_tensorflow.composed import attention, decode, gates, gating, gemms, moe, norms, quant, rope

    modules = (attention, decode, gates, gating, gemms, moe, norms, quant, rope)
    return {name: own for module in modules for name, own in module.COMPOSITIONS.items()}
