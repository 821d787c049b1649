"""rockiln's names of dtypes ↔ TensorFlow's. Imports no TensorFlow before it is asked."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

TYPE_NAMES = {
    "f32": "float",
    "f16": "half",
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2fnuz": "float8_e5m2fnuz",
    "u8": "uint8",
    "i32": "int32",
    "i64": "int64",
}
"""As REGISTER_OP and tf.as_dtype call them."""


@lru_cache(maxsize=64)
def find_dtype(name: str) -> Any:
    """tf.DType of rockiln's name. Raises KeyError for a name that has none."""
    import tensorflow as tf

    return tf.as_dtype(TYPE_NAMES[name])


@lru_cache(maxsize=64)
def name_dtype(dtype: Any) -> str:
    """rockiln's name of what tf.as_dtype takes, or TensorFlow's where rockiln has none ("float64"), or it is none."""
    import tensorflow as tf

    try:
        own: str = tf.as_dtype(dtype).base_dtype.name
    except TypeError:
        return str(dtype)
    names = {tf.as_dtype(name).name: short for short, name in TYPE_NAMES.items()}
    return names.get(own, own)
