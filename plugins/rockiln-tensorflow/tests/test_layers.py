"""Keras layers: as Keras's own of the same weights; fit, saved as .keras and as a SavedModel, compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from rockiln_tensorflow import ops
from rockiln_tensorflow.layers import Attention, MoE, RMSNormalization, SwiGLU

X = tf.constant(np.random.default_rng(0).standard_normal((8, 6, 16)), tf.float32)
WANTED = tf.roll(X, 1, axis=-1)


@pytest.fixture(autouse=True)
def seeded() -> None:
    keras.utils.set_random_seed(0)


def test_rms_normalization_is_kerass_own_with_its_weights() -> None:
    theirs, own = keras.layers.RMSNormalization(epsilon=1e-5), RMSNormalization(epsilon=1e-5)
    for layer in (theirs, own):
        layer.build(X.shape)
        layer.set_weights([np.linspace(0.5, 1.5, 16)])
    np.testing.assert_allclose(own(X), theirs(X), rtol=1e-5, atol=1e-6)
    assert RMSNormalization(dtype="mixed_bfloat16")(X).dtype == tf.bfloat16


def test_swiglu_is_three_dense_layers() -> None:
    layer = SwiGLU(24)
    layer.build(X.shape)
    gate, up = tf.split(tf.transpose(layer.gate_up.value), 2, axis=1)
    wanted = (tf.nn.silu(X @ gate) * (X @ up)) @ tf.transpose(layer.down.value)
    np.testing.assert_allclose(layer(X), wanted, rtol=1e-4, atol=1e-5)
    assert np.std(layer.gate_up) == pytest.approx(16**-0.5, rel=0.2)
    assert np.std(layer.down) == pytest.approx(24**-0.5, rel=0.2)


def test_moe_is_the_weighed_sum_of_its_experts() -> None:
    layer = MoE(24, experts=4, top=2)
    layer.build(X.shape)
    weights, ids = ops.topk_softmax(X @ tf.transpose(layer.router.value), top=2)
    gate, up = tf.split(tf.einsum("blk,enk->blen", X, layer.gate_up.value), 2, axis=-1)
    parts = tf.einsum("blen,ekn->blek", tf.nn.silu(gate) * up, layer.down.value)
    wanted = tf.reduce_sum(tf.gather(parts, ids, batch_dims=2) * weights[..., None], axis=2)
    np.testing.assert_allclose(layer(X), wanted, rtol=0.05, atol=0.03)
    with pytest.raises(ValueError, match="top is 5, not from 1 to the 4 experts"):
        MoE(24, experts=4, top=5)


@pytest.mark.parametrize("window", [0, 2])
def test_attention_is_softmax_of_scores(window: int) -> None:
    layer = Attention(heads=4, head_dim=8, kv_heads=2, window=window, attention_dtype="float16")
    layer.build(X.shape)
    q, k, v = tf.split(tf.reshape(X @ tf.transpose(layer.qkv.value), [8, 6, 8, 8]), [4, 2, 2], axis=2)
    k, v = (tf.repeat(item, 2, axis=2) for item in (k, v))
    scores = tf.einsum("blhd,bshd->bhls", q, k) * 8**-0.5
    distance = tf.range(6)[:, None] - tf.range(6)[None, :]
    seen = (distance >= 0) & (distance < window if window else True)
    weights = tf.nn.softmax(tf.where(seen, scores, -1e30), axis=-1)
    wanted = tf.reshape(tf.einsum("bhls,bshd->blhd", weights, v), [8, 6, 32]) @ tf.transpose(layer.out.value)
    np.testing.assert_allclose(layer(X), wanted, rtol=0.01, atol=0.005)
    with pytest.raises(ValueError, match="heads is 4, no multiple of kv_heads, 3"):
        Attention(heads=4, head_dim=8, kv_heads=3)


def make_model() -> keras.Model:
    """Norm, attention, SwiGLU and MoE, each added to what came in; the batch is unknown."""
    inputs = keras.Input((6, 16))
    hidden = inputs + Attention(heads=2, head_dim=8)(RMSNormalization()(inputs))
    hidden = hidden + SwiGLU(24)(RMSNormalization()(hidden))
    hidden = hidden + MoE(24, experts=4, top=2)(RMSNormalization()(hidden))
    return keras.Model(inputs, hidden)


@pytest.mark.parametrize("compiled", [False, True], ids=["traced", "jit_compile"])
def test_a_tiny_model_is_fitted_for_twenty_steps(compiled: bool) -> None:
    model = make_model()
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss="mse", jit_compile=compiled)
    history = model.fit(X, WANTED, batch_size=8, epochs=20, verbose=0)
    assert len(history.history["loss"]) == 20
    assert history.history["loss"][-1] < 0.5 * history.history["loss"][0]


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras's own, with NumPy 2
def test_a_model_survives_kerass_own_file(tmp_path: Path) -> None:
    model = make_model()
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(X), model(X))


LOAD = """
import sys
import numpy, tensorflow as tf
if sys.argv[3] == "with": import rockiln_tensorflow
loaded = tf.saved_model.load(sys.argv[1])
numpy.save(sys.argv[2] + ".out.npy", loaded.serve(tf.constant(numpy.load(sys.argv[2]))).numpy())
"""


def load_elsewhere(folder: Path, plugin: str) -> subprocess.CompletedProcess[str]:
    """A new process that loads and serves a saved model, with the plugin or without."""
    np.save(folder / "x.npy", X.numpy())
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", LOAD, str(folder / "model"), str(folder / "x.npy"), plugin]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


@pytest.mark.parametrize("plugin", ["with", "without"])
def test_a_saved_model_traced_without_a_gpu_is_served_anywhere(tmp_path: Path, plugin: str) -> None:
    model = make_model()
    model.export(tmp_path / "model", verbose=False)
    done = load_elsewhere(tmp_path, plugin)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "x.npy.out.npy"), model(X), rtol=1e-5, atol=1e-6)


def test_layers_on_another_back_end_say_what_to_do() -> None:
    program = "import keras, sys; keras.backend.backend = lambda: 'jax'; import rockiln_tensorflow.layers"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "works on Keras's TensorFlow back end, and this is jax's: set KERAS_BACKEND=tensorflow" in done.stderr
