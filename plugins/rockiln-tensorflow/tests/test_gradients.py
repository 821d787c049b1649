"""tf.test.compute_gradient of every op that has slopes, in float64; a few by day, all by night."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from golden_calls import make_call
from harness.framework_calls import FLOATS, find_difference, make_finite
from harness.rotation import NIGHTLY, read_rotation
from rockiln_kernels.golden import GoldenCase, read_golden
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_tensorflow import ops
from rockiln_tensorflow.composed import compose
from rockiln_tensorflow.forms import make_form

NUMBERS = ("f32", "f16", "bf16")
DAILY = ("fused_moe", "gemm_silu", "rms_norm", "rope", "silu_and_mul")


def has_slopes(spec: OpSpec) -> bool:
    """Numbers in, and out numbers and ids only: codes are steps."""
    axes = dict(spec.dtype_axes)
    numbers = [all(name in NUMBERS for name in axes.get(item.dtype, (item.dtype,))) for item in spec.outputs]
    ids = [item.dtype == "i32" for item in spec.outputs]
    into = any(all(name in NUMBERS for name in axes.get(item.dtype, (item.dtype,))) for item in spec.inputs)
    return into and not spec.name.startswith("dequant") and all(a or b for a, b in zip(numbers, ids, strict=True))


OPS = sorted(name for name, spec in read_table().items() if has_slopes(spec)) if NIGHTLY else sorted(DAILY)


def pick_case(op: str) -> GoldenCase:
    """The smallest one that has several rows, no special numbers, and none that stands where `limit` cuts."""
    whole = [case for case in read_golden(op) if all(array.size for array in case.inputs.values())]
    cases = [case for case in whole if not case.scalars.get("limit")] or whole
    plain = [case for case in cases if not any(word in case.name for word in ("tiny", "special"))] or cases
    return min(plain, key=lambda case: sum(array.size for array in case.inputs.values()))


def _list_outputs(case: GoldenCase, given: dict[str, Any]) -> list[tf.Tensor]:
    """Outputs of the composition that are numbers, with infinities made 0."""
    form = make_form(case.op)
    scalars = {item.name: item.default for item in form.spec.scalars} | dict(case.scalars)
    dtypes = {axis: case.dtypes[axis] for axis in form.open_axes}
    outputs = compose(case.op)(*(given.get(array.name) for array in form.spec.inputs), **scalars, **dtypes)
    return [item for item in outputs if item.dtype.is_floating]


@pytest.mark.parametrize("op", OPS)
def test_slopes_of_compositions_are_right_in_float64(op: str) -> None:
    """Along a random direction: the sum of all outputs, each weighed, of all inputs moved by one number."""
    case = pick_case(op)
    own = {name: tf.constant(make_finite(array)) for name, array in case.inputs.items()}
    varied = [name for name, item in own.items() if item.dtype.name in FLOATS]
    wide = {name: tf.cast(own[name], tf.float64) if name in varied else own[name] for name in own}
    outputs = _list_outputs(case, wide)
    chosen = [place for place, item in enumerate(outputs) if item.dtype == tf.float64]
    if not chosen:
        pytest.skip("its outputs are f32 or bf16 whatever comes in: too coarse for differences")
    generator = np.random.default_rng(read_rotation() % 2**32)
    weights = {place: tf.constant(generator.standard_normal(outputs[place].shape)) for place in chosen}
    steps = {name: tf.constant(generator.standard_normal(wide[name].shape)) for name in varied}

    def sum_along(distance: tf.Tensor) -> tf.Tensor:
        moved = {name: item + distance * steps[name] if name in varied else item for name, item in wide.items()}
        found = _list_outputs(case, moved)
        parts = [tf.where(tf.math.is_finite(found[place]), found[place], 0) * weights[place] for place in chosen]
        return tf.add_n([tf.reduce_sum(part) for part in parts])

    theory, numeric = tf.test.compute_gradient(sum_along, [tf.constant(0.0, tf.float64)], delta=1e-6)
    np.testing.assert_allclose(theory[0], numeric[0], rtol=1e-4, atol=1e-5)


def _draw(*shape: int, seed: int = 0) -> tf.Tensor:
    return tf.constant(np.random.default_rng(seed).standard_normal(shape))


@pytest.mark.parametrize(
    "name", ["rms_norm", "silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "swiglu_and_mul", "rope"]
)
def test_whole_jacobians_of_ops_are_right(name: str) -> None:
    x = _draw(2, 3, 16)
    places = tf.range(6) % 5
    tables = [_draw(5, 4, seed=seed) for seed in (1, 2)]

    def call(*own: tf.Tensor) -> tf.Tensor:
        if name == "rope":
            turned: tf.Tensor = ops.rope(
                tf.reshape(own[0], [2, 3, 2, 8]), *(tf.cast(item, tf.float32) for item in own[1:]), places
            )
            return turned
        called: tf.Tensor = getattr(ops, name)(*own)
        return called

    given = {"rms_norm": [x, _draw(16, seed=1)]}.get(name, [x])
    theory, numeric = tf.test.compute_gradient(
        (lambda own: call(own, *tables)) if name == "rope" else call, given, delta=1e-6
    )
    for own, expected in zip(theory, numeric, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("limit", [0.0, 0.5])
@pytest.mark.parametrize("name", ["silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "swiglu_and_mul"])
def test_the_gates_own_gradients_are_the_compositions_slopes(name: str, limit: float) -> None:
    x, dy = tf.cast(_draw(3, 16), tf.float32), tf.cast(_draw(3, 8, seed=1), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(ops, name)(x, limit=limit, interleaved=True)
    slope = tape.gradient(y, x, dy)
    own = getattr(ops, f"{name}_backward")(dy, x, limit=limit, interleaved=True)
    np.testing.assert_allclose(own, slope, rtol=1e-4, atol=1e-5)


def test_the_gradient_of_attention_is_its_compositions_slope() -> None:
    starts = tf.constant([0, 3, 8])
    q, k, v = (tf.cast(_draw(8, heads, 16, seed=seed), tf.float16) for heads, seed in ((4, 1), (2, 2), (2, 3)))
    words = {"scale": 0.25, "max_seqlen_q": 5, "max_seqlen_k": 0, "causal": True, "window_left": -1}
    with tf.GradientTape() as tape:
        tape.watch([q, k, v])
        out, lse = ops.attention_prefill(q, k, v, starts, starts, **words)
    dout = tf.cast(_draw(*out.shape, seed=4), tf.float16)
    wanted = tape.gradient(out, [q, k, v], dout)
    got = ops.attention_prefill_backward(q, k, v, out, lse, dout, starts, starts, **words)
    for own, expected in zip(got, wanted, strict=True):
        np.testing.assert_allclose(tf.cast(own, tf.float32), tf.cast(expected, tf.float32), rtol=0.02, atol=0.01)


def test_slopes_of_a_traced_call_are_those_of_the_eager_one() -> None:
    call, tensors = make_call(pick_case("gemm_silu"))

    def differentiate(*own: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(own)
            total = tf.reduce_sum(tf.cast(call(*own)[0], tf.float32) ** 2)
        return list(tape.gradient(total, own))

    for compiled in (False, True):
        traced = tf.function(differentiate, autograph=False, jit_compile=compiled)
        for got, wanted in zip(traced(*tensors), differentiate(*tensors), strict=True):
            assert find_difference(got, wanted) == ""


@pytest.mark.parametrize("name", ["gelu_and_mul", "gelu_tanh_and_mul", "silu_and_mul"])
def test_slopes_far_from_0_are_those_of_a_line(name: str) -> None:
    """Of the CPU's own ops: those of compositions are TensorFlow's, which gives NaN there."""
    x = tf.constant([[-1e30, -1e20, 1e20, 1e30, 2.0, 2.0, 2.0, 2.0]], tf.bfloat16)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(ops, name)(x)
    np.testing.assert_array_equal(tf.cast(tape.gradient(y, x)[0, :4], tf.float32), [0.0, 0.0, 2.0, 2.0])
