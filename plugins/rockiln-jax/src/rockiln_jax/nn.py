"""jax.nn's names, by rockiln's ops where they have one → the same arrays; every other name is jax.nn's own.

`from rockiln_jax import nn` in place of `from jax import nn`. Differences are in docs/jax.md.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from rockiln_jax import ops
from rockiln_jax.packed_attention import attend_packed, find_call


def rms_norm(x: ArrayLike, weight: ArrayLike | None = None, *, eps: float = 1e-6, weight_offset: float = 0.0) -> Array:
    """x / sqrt(mean(x^2) + eps) * (weight + weight_offset) over the last dim; x [..., N], weight [N], ones if left out.

    jax.nn has none of this name. The result has x's dtype; a weight of another is converted.
    """
    own = jnp.asarray(x)
    scale = jnp.ones(own.shape[-1], own.dtype) if weight is None else jnp.asarray(weight).astype(own.dtype)
    normal: Array = ops.rms_norm(own, scale, eps=eps, weight_offset=weight_offset)
    return normal


def swiglu(x: ArrayLike, axis: int = -1) -> Array:
    """silu(first half) * second half along `axis`, as jax.nn.glu halves; raises ValueError for an odd length."""
    return _gate(ops.silu_and_mul, x, axis)


def geglu(x: ArrayLike, axis: int = -1, *, approximate: bool = True) -> Array:
    """gelu(first half) * second half along `axis`; `approximate` as in jax.nn.gelu: by tanh."""
    return _gate(ops.gelu_tanh_and_mul if approximate else ops.gelu_and_mul, x, axis)


def _gate(op: Any, x: ArrayLike, axis: int) -> Array:
    own = jnp.moveaxis(jnp.asarray(x), axis, -1)
    return jnp.moveaxis(op(own), -1, axis)


def dot_product_attention(  # noqa: PLR0913  # jax.nn's signature
    query: ArrayLike, key: ArrayLike, value: ArrayLike, bias: ArrayLike | None = None, mask: ArrayLike | None = None, *,
    scale: float | None = None, is_causal: bool = False, query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None, local_window_size: int | tuple[int, int] | None = None,
    implementation: Any = None,
) -> Array:  # fmt: skip
    """jax.nn.dot_product_attention: query (B) T N H, key and value (B) S K H, all of one dtype; out like query.

    By the op attention_prefill where a pack runs it on the platform that is compiled for: f16 or bf16; no bias, mask or
    lengths; `is_causal` with T = S; a window with it. All else is jax.nn's own, errors too.
    """
    words = {
        "scale": scale, "is_causal": is_causal, "local_window_size": local_window_size,
        "query_seq_lengths": query_seq_lengths, "key_value_seq_lengths": key_value_seq_lengths,
    }  # fmt: skip

    def attend_plain(q: ArrayLike, k: ArrayLike, v: ArrayLike) -> Array:
        return jax.nn.dot_product_attention(q, k, v, bias, mask, implementation=implementation, **words)  # type: ignore[arg-type]

    is_plain = any(item is not None for item in (bias, mask, query_seq_lengths, key_value_seq_lengths, implementation))
    q, k, v = (jnp.asarray(item) for item in (query, key, value))
    call = None if is_plain else find_call(q, k, v, scale, is_causal=is_causal, window=local_window_size)
    return attend_plain(q, k, v) if call is None else attend_packed(q, k, v, call, attend_plain)


def __getattr__(name: str) -> Any:
    """What is not here is jax.nn's."""
    return getattr(jax.nn, name)


def __dir__() -> list[str]:
    return sorted({*dir(jax.nn), "dot_product_attention", "geglu", "rms_norm", "swiglu"})
