"""Calls in bf16 on a CPU → the plugin's own ops, where TensorFlow's compose only in f32, or round twice.

TensorFlow runs one op after another, so that a composition in f32 moves twice the memory of one in bf16; and none of
its ops on a CPU is fast at multiplying bf16 to f32. These compute in f32 and round once, as the table's kernels do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import tensorflow as tf
from tensorflow.python.saved_model import save_context

from rockiln_tensorflow.composed import Tensor
from rockiln_tensorflow.composed.sizes import is_within_xla
from rockiln_tensorflow.native import load_ops, read_wrappers

_IS_PORTABLE: ContextVar[bool] = ContextVar("rockiln_portable", default=False)


@contextmanager
def portable() -> Iterator[None]:
    """Within the block, calls on a CPU are composed of TensorFlow's ops alone: what is traced there needs no plugin.

    tf.saved_model.save traces tf.functions anew, and composes them so without this; it is for what is saved as it was
    traced: concrete functions, and graphs for other programs.
    """
    token = _IS_PORTABLE.set(True)
    try:
        yield
    finally:
        _IS_PORTABLE.reset(token)


def serves(*tensors: Tensor | None) -> bool:
    """Whether a CPU's own op may run on these: all bf16, not for XLA, a file, or where TensorFlow may choose a GPU.

    Nor in a strategy, whose replicas are traced in threads of their own: they do not know what they are traced for.
    """
    if any(tensor is not None and tensor.dtype != tf.bfloat16 for tensor in tensors):
        return False
    if _IS_PORTABLE.get() or save_context.in_save_context() or tf.distribute.has_strategy():
        return False
    return not is_within_xla() and not tf.config.list_physical_devices("GPU")


@lru_cache(maxsize=1)
def has_tiles() -> bool:
    """Whether this CPU multiplies bf16 in tiles (AMX); without, TensorFlow's product in f32 is the faster one."""
    return bool(ctypes.CDLL(str(load_ops())).rockiln_tensorflow_has_tiles())


def serves_products(*tensors: Tensor | None) -> bool:
    """The same, of ops that multiply matrices."""
    return serves(*tensors) and has_tiles()


def run_gate(x: Tensor, gate: str, **scalars: Any) -> Tensor:
    """gate(g) * (u + up_offset) of bf16 x [..., D2], [..., D2 / 2]."""
    return read_wrappers().RockilnCpuGate(x=x, gate=gate, **scalars)


def run_rope(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, *, interleaved: bool) -> Tensor:
    """Pairs of bf16 x [..., L, H, D] turned; cos and sin f32."""
    return read_wrappers().RockilnCpuRope(x=x, cos=cos, sin=sin, positions=positions, interleaved=interleaved)


def run_gemm(a: Tensor, b: Tensor, bias: Tensor | None, suffix: str, *, interleaved: bool) -> Tensor:
    """A gemm of bf16 with its epilogue."""
    paired = suffix == "_swiglu"
    gate = "silu" if paired else suffix.removeprefix("_")
    return read_wrappers().RockilnCpuGemm(a=a, b=b, bias=_list(bias), gate=gate, paired=paired, interleaved=interleaved)


def run_moe(tensors: Sequence[Tensor], biases: tuple[Tensor | None, Tensor | None], **gate: Any) -> Tensor:
    """fused_moe of x, gate_up, down, weights and ids, in bf16 but for weights (f32) and ids (i32)."""
    names = ("x", "gate_up", "down", "weights", "ids")
    given = dict(zip(names, tensors, strict=True))
    return read_wrappers().RockilnCpuMoe(**given, gate_up_bias=_list(biases[0]), down_bias=_list(biases[1]), **gate)


def _list(optional: Tensor | None) -> list[Tensor]:
    return [] if optional is None else [optional]
