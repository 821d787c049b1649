"""Flax NNX layers by rockiln's ops: RMSNorm, SwiGLU and MoE; needs Flax, which the rest of rockiln_jax does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from rockiln_jax import nn, ops

try:
    from flax import nnx
except ImportError as error:
    raise ImportError(f"rockiln_jax.layers needs Flax ({error}): pip install rockiln-jax[flax]") from error

Initializer = Callable[..., Array]
WEIGHTS = jax.nn.initializers.variance_scaling(1.0, "fan_in", "normal", in_axis=-1, out_axis=-2, batch_axis=())
EXPERTS = jax.nn.initializers.variance_scaling(1.0, "fan_in", "normal", in_axis=-1, out_axis=-2, batch_axis=(0,))


class RMSNorm(nnx.Module):
    """As nnx.RMSNorm over the last dim, with its `scale` [num_features]: states can be exchanged."""

    def __init__(
        self, num_features: int, *, epsilon: float = 1e-6, dtype: DTypeLike | None = None,
        param_dtype: DTypeLike = jnp.float32, scale_init: Initializer = jax.nn.initializers.ones, rngs: nnx.Rngs,
    ) -> None:  # fmt: skip
        self.num_features, self.epsilon, self.dtype = num_features, epsilon, dtype
        self.scale = nnx.Param(scale_init(rngs.params(), (num_features,), param_dtype))

    def __call__(self, x: Array) -> Array:
        """Y [..., num_features] like x, in `dtype`; without one, in the wider of x's and scale's."""
        own = jnp.asarray(x, self.dtype or jnp.promote_types(x.dtype, self.scale.value.dtype))
        return nn.rms_norm(own, self.scale.value, eps=self.epsilon)


class SwiGLU(nnx.Module):
    """down(silu(gate(x)) * up(x)): `gate_up` [2 * hidden, features], gate first, and `down` [features, hidden].

    Weights are stored row by output, as the ops take them: nnx.Linear's kernels transposed.
    """

    def __init__(
        self, features: int, hidden: int, *, dtype: DTypeLike | None = None, param_dtype: DTypeLike = jnp.float32,
        kernel_init: Initializer = WEIGHTS, rngs: nnx.Rngs,
    ) -> None:  # fmt: skip
        self.dtype = dtype
        self.gate_up = nnx.Param(kernel_init(rngs.params(), (2 * hidden, features), param_dtype))
        self.down = nnx.Param(kernel_init(rngs.params(), (features, hidden), param_dtype))

    def __call__(self, x: Array) -> Array:
        """Out [..., features] of x [..., features], in `dtype`; without one, in the wider of x's and the weights'."""
        dtype = self.dtype or jnp.promote_types(x.dtype, self.gate_up.value.dtype)
        hidden = ops.gemm_swiglu(x.astype(dtype), self.gate_up.value.astype(dtype))
        out: Array = ops.gemm(hidden, self.down.value.astype(dtype))
        return out


class MoE(nnx.Module):
    """`top` of `experts` SwiGLUs a token, weighed by softmax: `router` [experts, features], `gate_up`
    [experts, 2 * hidden, features] and `down` [experts, features, hidden].

    `dtype` is bf16 or f16, which the op fused_moe takes; the router works in f32.
    """

    def __init__(  # noqa: PLR0913  # all but five have defaults
        self, features: int, hidden: int, *, experts: int, top: int, renormalise: bool = True,
        dtype: DTypeLike = jnp.bfloat16, param_dtype: DTypeLike = jnp.float32, rngs: nnx.Rngs, **gate: Any,
    ) -> None:  # fmt: skip
        if not 1 <= top <= experts:
            raise ValueError(f"top is {top}, not from 1 to the {experts} experts")
        self.top, self.renormalise, self.dtype, self.gate = top, renormalise, dtype, gate
        self.router = nnx.Param(WEIGHTS(rngs.params(), (experts, features), param_dtype))
        self.gate_up = nnx.Param(EXPERTS(rngs.params(), (experts, 2 * hidden, features), param_dtype))
        self.down = nnx.Param(EXPERTS(rngs.params(), (experts, features, hidden), param_dtype))

    def __call__(self, x: Array) -> Array:
        """Out [..., features] of x [..., features], in `dtype`."""
        logits = ops.gemm(x.astype(jnp.float32), self.router.value.astype(jnp.float32))
        weights, ids = ops.topk_softmax(logits, top=self.top, renormalise=self.renormalise)
        matrices = (self.gate_up.value.astype(self.dtype), self.down.value.astype(self.dtype))
        out: Array = ops.fused_moe(x.astype(self.dtype), *matrices, weights, ids, **self.gate)
        return out
