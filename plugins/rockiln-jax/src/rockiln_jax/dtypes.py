"""rockiln's names of dtypes ↔ JAX's."""

from __future__ import annotations

import jax.numpy as jnp
from jax.typing import DTypeLike

JAX_DTYPES = {
    "f32": jnp.dtype(jnp.float32),
    "f16": jnp.dtype(jnp.float16),
    "bf16": jnp.dtype(jnp.bfloat16),
    "e4m3": jnp.dtype(jnp.float8_e4m3fn),
    "e5m2": jnp.dtype(jnp.float8_e5m2),
    "e4m3fnuz": jnp.dtype(jnp.float8_e4m3fnuz),
    "e5m2fnuz": jnp.dtype(jnp.float8_e5m2fnuz),
    "u8": jnp.dtype(jnp.uint8),
    "i32": jnp.dtype(jnp.int32),
    "i64": jnp.dtype(jnp.int64),
}
_NAMES = {dtype: name for name, dtype in JAX_DTYPES.items()}


def name_dtype(dtype: DTypeLike) -> str:
    """rockiln's name, or JAX's where rockiln has none ("float64", "key<fry>"), or what was given, which is no dtype."""
    try:
        own = jnp.dtype(dtype)
    except TypeError:
        return str(dtype)
    return _NAMES.get(own, own.name)
