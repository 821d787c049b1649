"""Gradients of the CPU's own ops: by compositions of TensorFlow's ops, computed anew from the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import tensorflow as tf

Tensor = Any


@lru_cache(maxsize=1)
def register_cpu_gradients() -> None:
    """When the library is loaded, since a saved model that is loaded may be trained on."""
    tf.RegisterGradient("RockilnCpuGate")(differentiate_gate)
    tf.RegisterGradient("RockilnCpuRope")(differentiate_rope)
    tf.RegisterGradient("RockilnCpuGemm")(partial(differentiate, _compose_gemm))
    tf.RegisterGradient("RockilnCpuMoe")(partial(differentiate, _compose_moe))


def differentiate(compose: Callable[[Any, Sequence[Tensor]], Tensor], op: Any, slope: Tensor) -> list[Tensor | None]:
    """Slopes of the inputs that are numbers and are asked for, by the composition's own."""
    from rockiln_tensorflow.composed.cpu import portable

    skipped = getattr(op, "skip_input_indices", None) or ()
    places = [place for place, x in enumerate(op.inputs) if x.dtype.is_floating and place not in skipped]
    with portable(), tf.GradientTape() as tape:
        own = [tf.identity(x) for x in op.inputs]
        for place in places:
            tape.watch(own[place])
        output = compose(op, own)
    found = dict(zip(places, tape.gradient(output, [own[place] for place in places], slope), strict=True))
    return [found.get(place) for place in range(len(own))]


def differentiate_gate(op: Any, slope: Tensor) -> Tensor:
    """By the family's backward op."""
    from rockiln_tensorflow.composed import compose

    words = {name: op.get_attr(name) for name in ("limit", "interleaved", "alpha", "up_offset")}
    gate = op.get_attr("gate").decode()
    return compose(f"{gate}_and_mul_backward")(slope, op.inputs[0], **words)[0]


def differentiate_rope(op: Any, slope: Tensor) -> list[Tensor | None]:
    """x's by turning back; those of cos and sin by the composition, where they are asked for."""
    from rockiln_tensorflow.composed import compose

    _, cos, sin, positions = op.inputs
    interleaved = op.get_attr("interleaved")
    (turned,) = compose("rope_backward")(slope, cos, sin, positions, interleaved=interleaved)
    skipped = getattr(op, "skip_input_indices", None) or ()
    if {1, 2} <= set(skipped):
        return [turned, None, None, None]
    return [turned, *differentiate(_compose_rope, op, slope)[1:]]


def _compose_rope(op: Any, inputs: Sequence[Tensor]) -> Tensor:
    from rockiln_tensorflow.composed import compose

    return compose("rope")(*inputs, interleaved=op.get_attr("interleaved"))[0]


def _compose_gemm(op: Any, inputs: Sequence[Tensor]) -> Tensor:
    from rockiln_tensorflow.composed import compose

    gate = op.get_attr("gate").decode()
    name = "gemm_swiglu" if op.get_attr("paired") else f"gemm_{gate}" if gate else "gemm"
    return compose(name)(*inputs, interleaved=op.get_attr("interleaved"))[0]


def _compose_moe(op: Any, inputs: Sequence[Tensor]) -> Tensor:
    from rockiln_tensorflow.composed import compose

    words = {name: op.get_attr(name) for name in ("interleaved", "alpha", "limit", "up_offset")}
    rest = iter(inputs[5:])
    biases = [next(rest) if op.get_attr(f"{name}_bias_count") else None for name in ("gate_up", "down")]
    return compose("fused_moe")(*inputs[:5], *biases, **words)[0]
