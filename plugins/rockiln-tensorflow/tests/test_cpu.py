"""The CPU's own ops of bf16: right for any shape, with AMX and without; their gradients; and saved models of them."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rockiln_tensorflow import ops, portable
from rockiln_tensorflow.composed import cpu
from rockiln_tensorflow.native import load_ops

BF16 = tf.bfloat16


def _draw(*shape: int, seed: int = 0) -> tf.Tensor:
    return tf.cast(tf.constant(np.random.default_rng(seed).standard_normal(shape)), BF16)


def _experts(tokens: int, width: int, hidden: int, *, is_biased: bool) -> tuple[tf.Tensor, ...]:
    """x, gate_up, down of four experts, weights and ids with one that is no expert's, and biases."""
    shapes = ((tokens, width), (4, 2 * hidden, width), (4, width, hidden), (4, 2 * hidden), (4, width))
    x, gate_up, down, *biases = (_draw(*shape, seed=place) / 4 for place, shape in enumerate(shapes))
    weights = tf.constant(np.random.default_rng(7).random((tokens, 2)), tf.float32)
    ids = tf.constant(np.random.default_rng(8).integers(-1, 5, (tokens, 2)), tf.int32)
    return (x, gate_up, down, weights, ids, *(biases if is_biased else ()))


CALLS = {
    "gate": lambda: (ops.silu_and_mul, (_draw(5, 2 * 37),)),
    "gate in turn": lambda: (lambda x: ops.gelu_and_mul(x, interleaved=True, limit=1.0), (_draw(3, 5, 2 * 24),)),
    "gate with offset": lambda: (lambda x: ops.swiglu_and_mul(x, alpha=1.7, limit=2.0, up_offset=1.0), (_draw(4, 64),)),
    "rope": lambda: (
        ops.rope,
        (_draw(2, 3, 4, 50), *(tf.cast(_draw(9, 21, seed=s), tf.float32) for s in (1, 2)), tf.range(6)),
    ),
    "gemm": lambda: (ops.gemm, (_draw(45, 70), _draw(39, 70, seed=1), _draw(39, seed=2))),
    "gemm of many": lambda: (ops.gemm_gelu, (_draw(600, 1100) / 8, _draw(33, 1100, seed=1))),
    "gemm_swiglu": lambda: (
        lambda a, b: ops.gemm_swiglu(a, b, interleaved=True), (_draw(2, 17, 64), _draw(2 * 21, 64, seed=1))
    ),
    "moe": lambda: (ops.fused_moe, _experts(40, 48, 33, is_biased=False)),
    "moe with all": lambda: (
        lambda *own: ops.fused_moe(*own, interleaved=True, alpha=1.7, limit=1.0, up_offset=1.0),
        _experts(3, 33, 20, is_biased=True),
    ),
}  # fmt: skip


@pytest.fixture(params=["tiles", "plain"])
def products(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The ops that multiply are served, by AMX and without it, whatever this CPU has."""
    if request.param == "tiles" and not cpu.has_tiles():
        pytest.skip("this CPU has no AMX")
    monkeypatch.setattr(cpu, "has_tiles", lambda: True)
    library = ctypes.CDLL(str(load_ops()))
    library.rockiln_tensorflow_forbid_tiles(request.param == "plain")
    yield request.param
    library.rockiln_tensorflow_forbid_tiles(0)


def _list_types(call: object, tensors: tuple[tf.Tensor, ...]) -> set[str]:
    graph = tf.function(call, autograph=False).get_concrete_function(*tensors).graph
    return {op.type for op in graph.get_operations() if op.type.startswith("Rockiln")}


@pytest.mark.parametrize("name", CALLS)
def test_an_own_op_gives_what_the_composition_gives(products: str, name: str) -> None:
    call, tensors = CALLS[name]()
    assert len(_list_types(call, tensors)) == 1, products
    with portable():
        assert _list_types(call, tensors) == set()
        wanted = call(*tensors)
    got = call(*tensors)
    assert (got.shape, got.dtype) == (wanted.shape, BF16)
    np.testing.assert_allclose(tf.cast(got, tf.float32), tf.cast(wanted, tf.float32), rtol=2**-7, atol=2e-4)


@pytest.mark.parametrize("name", CALLS)
def test_slopes_of_an_own_op_are_those_of_the_composition(products: str, name: str) -> None:
    call, tensors = CALLS[name]()

    def differentiate() -> list[tf.Tensor]:
        watched = [tensor for tensor in tensors if tensor.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y = call(*tensors)
        return list(tape.gradient(y, watched, tf.cast(_draw(*y.shape, seed=5), y.dtype)))

    got = differentiate()
    with portable():
        wanted = differentiate()
    for own, expected in zip(got, wanted, strict=True):
        a, b = (tf.cast(tf.convert_to_tensor(item), tf.float32).numpy() for item in (own, expected))
        np.testing.assert_allclose(a, b, rtol=0.02, atol=0.02 * np.abs(b).max(), err_msg=products)


def test_tensorflows_own_product_is_right_after_ours() -> None:
    a, b = _draw(64, 128), _draw(96, 128, seed=1)
    wanted = tf.matmul(a, b, transpose_b=True)
    for _ in range(3):
        ops.gemm_silu(a, b)
        np.testing.assert_array_equal(tf.matmul(a, b, transpose_b=True), wanted)


def test_a_position_beyond_the_table_is_told() -> None:
    tables = [tf.zeros((4, 8)), tf.zeros((4, 8))]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"rope: positions\[1\] = 4 is not in \[0, 4\)"):
        ops.rope(_draw(2, 1, 16), *tables, tf.constant([3, 4]))


def _trace_without_sizes(call: object, tensors: tuple[tf.Tensor, ...]) -> Any:
    specs = [tf.TensorSpec([None] * len(tensor.shape), tensor.dtype) for tensor in tensors]
    return tf.function(call, autograph=False, input_signature=specs)


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize(("place", "width"), [(5, 0), (5, 1), (5, 6600), (6, 1), (6, 33 * 4)])
def test_a_bias_that_does_not_fit_is_told_when_sizes_are_known_only_then(place: int, width: int) -> None:
    tensors = list(_experts(3, 33, 20, is_biased=True))
    traced = _trace_without_sizes(ops.fused_moe, tuple(tensors))
    tensors[place] = _draw(4, width)
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"bias \[4,{width}\] does not fit matrices \[4,"):
        traced(*tensors)


@pytest.mark.usefixtures("products")
def test_rows_that_are_no_pairs_are_told_when_they_are_known_only_then() -> None:
    tensors = (_draw(3, 8), _draw(7, 8, seed=1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="b has 7 rows, not pairs"):
        _trace_without_sizes(ops.gemm_swiglu, tensors)(*tensors)


def test_tables_in_double_are_composed() -> None:
    x, tables, places = _draw(3, 2, 8), [_draw(4, 4, seed=seed) for seed in (1, 2)], tf.constant([0, 3, 1])
    double, single = (ops.rope(x, *(tf.cast(t, dtype) for t in tables), places) for dtype in (tf.float64, tf.float32))
    np.testing.assert_allclose(tf.cast(double, tf.float32), tf.cast(single, tf.float32), rtol=2**-7, atol=1e-6)


def test_what_a_strategy_traces_needs_no_plugin() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    types = _list_types(lambda x: strategy.run(ops.silu_and_mul, args=(x,)), (_draw(4, 64),))
    assert types == set()


def test_infinities_nan_and_far_numbers_are_right() -> None:
    numbers = np.array([np.inf, -np.inf, np.nan, -88.5, -90.0, 0.0, -0.0, 3e38], np.float32)
    x = tf.cast(tf.concat((numbers, np.ones(8)), 0)[None], BF16)
    g = tf.cast(x, tf.float64)[0, :8].numpy()
    with np.errstate(invalid="ignore", over="ignore"):
        silu = g / (1 + np.exp(-g))
    gelu = [g if g >= 0 else -0.0 if np.isfinite(g) else np.nan for g in g]
    for name, wanted in (("silu", silu), ("gelu", gelu), ("gelu_tanh", gelu)):
        got = tf.cast(getattr(ops, f"{name}_and_mul")(x), tf.float64)[0]
        np.testing.assert_allclose(got, wanted, rtol=2**-7, atol=2**-126, err_msg=name)


LOAD = """
import sys, tensorflow as tf
for folder in sys.argv[1:]:
    try:
        traced = tf.saved_model.load(folder).traced
    except Exception as error:
        print("Op type not registered 'RockilnCpuGate'" in str(error))
    else:
        print(float(tf.reduce_sum(traced(tf.ones((2, 16), tf.bfloat16)))))
"""


def _save_gate(folder: Path, *, is_trace: bool, is_portable: bool) -> str:
    module = tf.Module()
    function = tf.function(ops.silu_and_mul, autograph=False)
    with portable() if is_portable else nullcontext():
        traced = function.get_concrete_function(tf.TensorSpec((2, 16), BF16))
    module.traced = traced if is_trace else function
    tf.saved_model.save(module, str(folder))
    return str(folder)


def test_a_saved_function_in_bf16_is_served_anywhere_and_a_saved_trace_where_the_plugin_is(tmp_path: Path) -> None:
    function = _save_gate(tmp_path / "function", is_trace=False, is_portable=False)
    trace = _save_gate(tmp_path / "trace", is_trace=True, is_portable=False)
    composed = _save_gate(tmp_path / "composed", is_trace=True, is_portable=True)
    command = [sys.executable, "-c", LOAD, function, trace, composed]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["11.6875", "True", "11.6875"]
    x = tf.ones((2, 16), BF16)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.saved_model.load(trace).traced(x)
    assert float(tf.reduce_sum(y)) == 11.6875
    assert tape.gradient(y, x).shape == (2, 16)
