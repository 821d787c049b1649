"""An op's name → its composition of torch's own ops, for a CPU and for any device that no kernel serves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from torch import Tensor

Composition = Callable[..., tuple[Tensor, ...]]


def compose(op: str) -> Composition:
    """The composition of `op`.

    It takes the op's inputs in the spec's order (absent ones None), its scalars by keyword, `out_dtype` where no input
    decides a dtype and `format` where none decides a packed format, and gives a tuple in the spec's order of outputs.
    Layouts do not matter. Autograd follows it where the op has a gradient, in float64 too; what is f32 beside narrower
    numbers is float64 beside those. It does not check its arguments. Raises KeyError for an op that the table lacks.
    """
    return read_compositions()[op]


@lru_cache(maxsize=1)
def read_compositions() -> dict[str, Composition]:
    """All of them, by name."""
    from rockiln_torch.framework import attention, decode, gates, gating, gemms, moe, norms, quant, rope

    modules = (attention, decode, gates, gating, gemms, moe, norms, quant, rope)
    return {name: own for module in modules for name, own in module.COMPOSITIONS.items()}
