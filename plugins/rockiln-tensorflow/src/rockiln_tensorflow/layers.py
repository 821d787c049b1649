"""Keras 3 layers by rockiln's ops: RMSNormalization, SwiGLU, MoE, Attention; for Keras's TensorFlow back end."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rockiln_tensorflow import ops
from rockiln_tensorflow.composed import Tensor
from rockiln_tensorflow.composed.sizes import count_elements, read_sizes

if keras.backend.backend() != "tensorflow":
    raise ImportError(
        f"rockiln_tensorflow.layers works on Keras's TensorFlow back end, and this is {keras.backend.backend()}'s: set "
        "KERAS_BACKEND=tensorflow before Keras is imported"
    )

WEIGHTS = keras.initializers.VarianceScaling(1.0, "fan_out", "truncated_normal")
"""Rows are outputs here, so that Keras's fan out is the number of inputs."""


class _ExpertWeights(keras.initializers.Initializer):
    """As WEIGHTS, for each expert of [experts, outputs, inputs]."""

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        return keras.random.truncated_normal(shape, stddev=shape[-1] ** -0.5, dtype=dtype)


@keras.saving.register_keras_serializable(package="rockiln")
class RMSNormalization(keras.layers.Layer):
    """x / sqrt(mean(x^2) + epsilon) * scale over the last dim, as keras.layers.RMSNormalization; `scale` [features]."""

    def __init__(self, epsilon: float = 1e-6, **words: Any) -> None:
        super().__init__(**words)
        self.epsilon = epsilon

    def build(self, input_shape: Any) -> None:
        """Make `scale`. Raises ValueError where the last dim is unknown."""
        self.scale = self.add_weight(name="scale", shape=(_read_features(self, input_shape),), initializer="ones")

    def call(self, inputs: Tensor) -> Tensor:
        """Y like inputs, in the compute dtype."""
        return ops.rms_norm(inputs, tf.cast(self.scale, inputs.dtype), eps=self.epsilon)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """As the input's."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it was made with."""
        return {**super().get_config(), "epsilon": self.epsilon}


@keras.saving.register_keras_serializable(package="rockiln")
class SwiGLU(keras.layers.Layer):
    """down(silu(gate(x)) * up(x)): `gate_up` [2 * hidden, features], gate first, and `down` [features, hidden].

    Weights are stored row by output, as the ops take them: a Dense kernel transposed.
    """

    def __init__(self, hidden: int, **words: Any) -> None:
        super().__init__(**words)
        self.hidden = hidden

    def build(self, input_shape: Any) -> None:
        """Make the weights. Raises ValueError where the last dim is unknown."""
        features = _read_features(self, input_shape)
        self.gate_up = self.add_weight(name="gate_up", shape=(2 * self.hidden, features), initializer=WEIGHTS)
        self.down = self.add_weight(name="down", shape=(features, self.hidden), initializer=WEIGHTS)

    def call(self, inputs: Tensor) -> Tensor:
        """Out like inputs, in the compute dtype."""
        hidden = ops.gemm_swiglu(inputs, tf.cast(self.gate_up, inputs.dtype))
        return ops.gemm(hidden, tf.cast(self.down, inputs.dtype))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """As the input's."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it was made with."""
        return {**super().get_config(), "hidden": self.hidden}


@keras.saving.register_keras_serializable(package="rockiln")
class MoE(keras.layers.Layer):
    """`top` of `experts` SwiGLUs a token, weighed by softmax: `router` [experts, features], `gate_up`
    [experts, 2 * hidden, features], `down` [experts, features, hidden].

    The experts work in `expert_dtype`, bfloat16 or float16, which the op fused_moe takes; the router in float32.
    """

    def __init__(  # all but three have defaults
        self, hidden: int, experts: int, top: int, *, renormalise: bool = True, expert_dtype: str = "bfloat16",
        **words: Any,
    ) -> None:  # fmt: skip
        super().__init__(**words)
        if not 1 <= top <= experts:
            raise ValueError(f"top is {top}, not from 1 to the {experts} experts")
        self.hidden, self.experts, self.top = hidden, experts, top
        self.renormalise, self.expert_dtype = renormalise, expert_dtype

    def build(self, input_shape: Any) -> None:
        """Make the weights. Raises ValueError where the last dim is unknown."""
        features, experts = _read_features(self, input_shape), self.experts
        own = _ExpertWeights()
        self.router = self.add_weight(name="router", shape=(experts, features), initializer=WEIGHTS)
        self.gate_up = self.add_weight(name="gate_up", shape=(experts, 2 * self.hidden, features), initializer=own)
        self.down = self.add_weight(name="down", shape=(experts, features, self.hidden), initializer=own)

    def call(self, inputs: Tensor) -> Tensor:
        """Out like inputs, in the compute dtype."""
        logits = ops.gemm(tf.cast(inputs, tf.float32), tf.cast(self.router, tf.float32))
        weights, ids = ops.topk_softmax(logits, top=self.top, renormalise=self.renormalise)
        matrices = (tf.cast(matrix, self.expert_dtype) for matrix in (self.gate_up, self.down))
        out = ops.fused_moe(tf.cast(inputs, self.expert_dtype), *matrices, weights, ids)
        return tf.cast(out, inputs.dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """As the input's."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it was made with."""
        own = {name: getattr(self, name) for name in ("hidden", "experts", "top", "renormalise", "expert_dtype")}
        return {**super().get_config(), **own}


@keras.saving.register_keras_serializable(package="rockiln")
class Attention(keras.layers.Layer):
    """Causal self-attention of grouped heads: `qkv` [(heads + 2 * kv_heads) * head_dim, features], `out`
    [features, heads * head_dim]; inputs [batch, length, features].

    `window` is how many tokens a query sees, itself the last; 0 is all. Attention itself works in `attention_dtype`,
    bfloat16 or float16, which the op attention_prefill takes.
    """

    def __init__(  # all but two have defaults
        self, heads: int, head_dim: int, *, kv_heads: int | None = None, causal: bool = True, window: int = 0,
        attention_dtype: str = "bfloat16", **words: Any,
    ) -> None:  # fmt: skip
        super().__init__(**words)
        self.heads, self.head_dim, self.kv_heads = heads, head_dim, kv_heads or heads
        self.causal, self.window, self.attention_dtype = causal, window, attention_dtype
        if heads % self.kv_heads:
            raise ValueError(f"heads is {heads}, no multiple of kv_heads, {self.kv_heads}")

    def build(self, input_shape: Any) -> None:
        """Make the weights. Raises ValueError where the last dim is unknown."""
        features = _read_features(self, input_shape)
        rows = (self.heads + 2 * self.kv_heads) * self.head_dim
        self.qkv = self.add_weight(name="qkv", shape=(rows, features), initializer=WEIGHTS)
        self.out = self.add_weight(name="out", shape=(features, self.heads * self.head_dim), initializer=WEIGHTS)

    def call(self, inputs: Tensor) -> Tensor:
        """Out like inputs, in the compute dtype. Raises ValueError for an unknown length, which decides a kernel."""
        batch, length, _ = read_sizes(inputs)
        if inputs.shape[1] is None:
            raise ValueError(f"{self.name}: the length of its input is unknown: give keras.Input a length")
        packed = ops.gemm(inputs, tf.cast(self.qkv, inputs.dtype))
        rows = tf.reshape(packed, [count_elements([batch, length]), self.heads + 2 * self.kv_heads, self.head_dim])
        narrow = tf.cast(rows, self.attention_dtype)
        q, k, v = tf.split(narrow, [self.heads, self.kv_heads, self.kv_heads], axis=1)
        starts = tf.range(batch + 1) * length
        words = {"scale": self.head_dim**-0.5, "causal": self.causal, "window_left": self.window - 1}
        out, _ = ops.attention_prefill(q, k, v, starts, starts, max_seqlen_q=inputs.shape[1], **words)
        merged = tf.reshape(tf.cast(out, inputs.dtype), [batch, length, self.heads * self.head_dim])
        return ops.gemm(merged, tf.cast(self.out, inputs.dtype))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """As the input's."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """What it was made with."""
        names = ("heads", "head_dim", "kv_heads", "causal", "window", "attention_dtype")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def _read_features(layer: keras.layers.Layer, input_shape: Any) -> int:
    if input_shape[-1] is None:
        raise ValueError(f"{layer.name}: the last dim of its input is unknown")
    return int(input_shape[-1])
