"""Functions of ops: signatures, errors, unknown dims, and that eager, traced, mapped and compiled calls agree."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from golden_calls import make_call
from harness.framework_calls import find_difference
from harness.rotation import NIGHTLY, read_rotation
from rockiln_kernels.golden import GoldenCase, read_golden
from rockiln_kernels.table import read_families, read_origins, read_table
from rockiln_tensorflow import ops

FLOAT8 = tf.dtypes.experimental


def _draw(*shape: int, seed: int = 0, dtype: tf.DType = tf.float32) -> tf.Tensor:
    return tf.cast(tf.constant(np.random.default_rng(seed).standard_normal(shape)), dtype)


X, WEIGHT = _draw(3, 5, 64), _draw(64, seed=1)


def test_every_op_has_a_function_with_signature_and_words() -> None:
    for name, spec in read_table().items():
        function = getattr(ops, name)
        assert spec.summary in function.__doc__
        assert list(inspect.signature(function).parameters)[: len(spec.inputs)] == [item.name for item in spec.inputs]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ops.nothing
    assert set(read_table()) <= set(dir(ops))


def test_outputs_have_the_inputs_leading_dims() -> None:
    assert ops.rms_norm(X, WEIGHT).shape == X.shape
    q, scale = ops.rms_norm_fp8(X, WEIGHT, out_dtype=FLOAT8.float8_e4m3fn)
    assert (q.shape, q.dtype, scale.shape) == (X.shape, FLOAT8.float8_e4m3fn, (15,))
    assert ops.quant_mxfp6(X, fp6_format="e3m2")[0].shape == (3, 5, 48)


def test_variables_and_arrays_are_taken() -> None:
    wanted = ops.rms_norm(X, WEIGHT).numpy()
    assert np.array_equal(ops.rms_norm(tf.Variable(X), tf.Variable(WEIGHT)), wanted)
    assert np.array_equal(ops.rms_norm(X.numpy(), weight=WEIGHT.numpy()), wanted)


def test_what_is_no_call_is_told_with_shapes_and_rule() -> None:
    with pytest.raises(TypeError, match=r"rms_norm: missing a required argument: 'weight'; it takes \(x, weight"):
        ops.rms_norm(X)
    with pytest.raises(TypeError, match="weight is bf16, other arrays are f32"):
        ops.rms_norm(X, tf.cast(WEIGHT, tf.bfloat16))
    with pytest.raises(ValueError, match=r"weight has N = 63, expected 64 \[x=f32\[3,5,64\] weight=f32\[63\]"):
        ops.rms_norm(X, WEIGHT[:63])
    with pytest.raises(ValueError, match="the length of a row is no multiple of 32"):
        ops.quant_mxfp4(X[..., :33])
    with pytest.raises(TypeError, match=r"top is 1\.5, not a whole number"):
        ops.topk_softmax(X, top=1.5)
    with pytest.raises(TypeError, match="eps is a symbolic tensor"):
        tf.function(lambda eps: ops.rms_norm(X, WEIGHT, eps=eps), autograph=False)(tf.constant(1e-5))
    with pytest.raises(ValueError, match=r"rms_norm: x has 0 dims, not 2 \(M, N\)"):
        ops.rms_norm(1.0, WEIGHT)
    with pytest.raises(TypeError, match="rms_norm: x is a RaggedTensor, of which TensorFlow makes no tensor"):
        ops.rms_norm(tf.ragged.constant([[1.0, 2.0], [1.0]]), WEIGHT)
    with pytest.raises(TypeError, match="rms_norm: weight is a SparseTensor"):
        ops.rms_norm(X, tf.sparse.eye(3))
    with pytest.raises(TypeError, match="Q = bf16 is not one of e4m3"):
        ops.rms_norm_fp8(X, WEIGHT, out_dtype=tf.bfloat16)
    with pytest.raises(TypeError, match="Q = nonsense is not one of e4m3"):
        ops.rms_norm_fp8(X, WEIGHT, out_dtype="nonsense")


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (([None, 64], [63]), "rms_norm: weight has N = 63, expected 64"),
        (([None, 64], [2, None]), "rms_norm: weight has 2 dims, not 1"),
        (([None, 0], [None]), "rms_norm: a row has no values"),
        ((None, [64]), "rms_norm: the number of dims of x is not known"),
    ],
)
def test_what_is_wrong_already_is_told_while_dims_are_unknown(shapes: tuple[object, object], message: str) -> None:
    specs = [tf.TensorSpec(shape) for shape in shapes]
    with pytest.raises(ValueError, match=message):
        tf.function(ops.rms_norm, autograph=False).get_concrete_function(*specs)


def test_empty_tensors_are_calls() -> None:
    assert ops.rms_norm(X[:0], WEIGHT).shape == (0, 5, 64)
    weights, ids = ops.topk_softmax(X[:0], top=2)
    assert (weights.shape, ids.shape) == ((0, 5, 2), (0, 5, 2))


def _draw_experts(tokens: int) -> tuple[tf.Tensor, ...]:
    """x, gate_up, down of four experts in bf16."""
    shapes = ((tokens, 32), (4, 64, 32), (4, 32, 32))
    return tuple(_draw(*shape, seed=place, dtype=tf.bfloat16) for place, shape in enumerate(shapes))


def test_experts_of_no_tokens_and_ids_of_no_expert_add_nothing() -> None:
    x, gate_up, down = _draw_experts(3)
    weights, ids = tf.constant([[np.nan, np.inf], [1.0, 0.5], [1.0, np.nan]]), tf.constant([[-1, 4], [2, 2], [1, 9]])
    out = ops.fused_moe(x, gate_up, down, weights, ids)
    single = ops.fused_moe(x[1:], gate_up, down, tf.constant([[1.5], [1.0]]), tf.constant([[2], [1]]))
    assert not out[0].numpy().any()
    assert find_difference(out[1:], single) == ""
    assert ops.fused_moe(x[:0], gate_up, down, weights[:0], ids[:0]).shape == (0, 32)
    compiled = tf.function(ops.fused_moe, autograph=False, jit_compile=True)(x, gate_up, down, weights, ids)
    assert find_difference(compiled, out) == ""


def test_experts_are_mapped_by_map_fn() -> None:
    x, gate_up, down = _draw_experts(6)
    weights, ids = ops.topk_softmax(_draw(6, 4), top=2)
    split = tuple(tf.reshape(one, (2, 3, -1)) for one in (x, weights, ids))
    mapped = tf.map_fn(
        lambda own: ops.fused_moe(own[0], gate_up, down, *own[1:]), split, fn_output_signature=tf.bfloat16
    )
    assert find_difference(tf.reshape(mapped, x.shape), ops.fused_moe(x, gate_up, down, weights, ids)) == ""


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_logits_that_are_not_finite_are_weighed_over_all_experts(value: float) -> None:
    logits = _draw(2, 8).numpy()
    logits[1, 3] = value
    weights, ids = ops.topk_softmax(tf.constant(logits), top=2)
    alone = ops.topk_softmax(tf.constant(logits[:1]), top=2)
    assert np.array_equal(ids[:1], alone[1])
    np.testing.assert_allclose(weights[:1], alone[0], rtol=1e-6)
    if value == -np.inf:
        assert 3 not in ids[1].numpy()
        np.testing.assert_allclose(tf.reduce_sum(weights[1]), 1.0, rtol=1e-6)
    else:
        np.testing.assert_array_equal(weights[1], [1.0, 0.0] if value == 3e38 else [np.nan] * 2)


def test_vectorized_map_agrees_with_the_loop() -> None:
    got = tf.vectorized_map(lambda x: ops.rms_norm(x, WEIGHT), X)
    np.testing.assert_allclose(got, ops.rms_norm(X, WEIGHT), rtol=1e-6)
    a, b = _draw(4, 3, 8), _draw(4, 5, 8, seed=1)
    looped = tf.stack([ops.gemm(own, other) for own, other in zip(tf.unstack(a), tf.unstack(b), strict=True)])
    np.testing.assert_allclose(tf.vectorized_map(lambda pair: ops.gemm(*pair), (a, b)), looped, rtol=1e-5, atol=1e-6)


def test_doubles_are_computed_in_double() -> None:
    x = tf.constant(np.random.default_rng(0).standard_normal((3, 64)))
    y = ops.rms_norm(x, tf.ones(64, tf.float64))
    assert y.dtype == tf.float64
    np.testing.assert_allclose(y, x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-6), rtol=1e-12)


def pick_ops() -> list[str]:
    """An op of each family by day."""
    origins = read_origins()
    families = [sorted(op for op in origins if origins[op] == family) for family in read_families()]
    return sorted(read_table()) if NIGHTLY else [names[read_rotation() % len(names)] for names in families]


def pick_case(op: str) -> GoldenCase:
    """One of the op's cases with rows, by rotation."""
    cases = [case for case in read_golden(op) if all(array.size for array in case.inputs.values())]
    plain = [case for case in cases if not any(word in case.name for word in ("tiny", "special"))] or cases
    return plain[read_rotation() % len(plain)]


def _find_unknown(case: GoldenCase, tensors: tuple[tf.Tensor, ...]) -> list[tf.TensorSpec]:
    """Every dim unknown, but that of experts."""
    specs = [tensor.shape.as_list() for tensor in tensors]
    names = [array for array in read_table()[case.op].inputs if array.name in case.inputs]
    kept = [own.dims[0] if case.op.startswith("fused_moe") and own.dims[0] == "E" else "" for own in names]
    return [
        tf.TensorSpec([shape[0] if keep else None, *[None] * (len(shape) - 1)] if shape else [], tensor.dtype)
        for shape, keep, tensor in zip(specs, kept, tensors, strict=True)
    ]


@pytest.mark.parametrize("op", pick_ops())
def test_traced_calls_agree_with_eager_ones(op: str) -> None:
    case = pick_case(op)
    call, tensors = make_call(case)
    wanted = call(*tensors)
    traced = tf.function(call, autograph=False)
    unknown = tf.function(call, autograph=False, input_signature=_find_unknown(case, tensors))
    for name, way in (("traced", traced), ("unknown dims", unknown)):
        for place, (got, expected) in enumerate(zip(way(*tensors), wanted, strict=True)):
            assert find_difference(got, expected) == "", f"{op}: {name}: output {place}"


@pytest.mark.parametrize("op", pick_ops())
def test_calls_compiled_by_xla_agree_with_eager_ones(op: str) -> None:
    call, tensors = make_call(pick_case(op))
    compiled = tf.function(call, autograph=False, jit_compile=True)
    for place, (got, expected) in enumerate(zip(compiled(*tensors), call(*tensors), strict=True)):
        assert find_difference(got, expected) == "", f"{op}: output {place}"


PROBE = """
import os, sys, time
import tensorflow, inspect, logging
start = time.process_time()
import rockiln_tensorflow
print((time.process_time() - start) * 1e3, "rockiln_kernels" in sys.modules)
"""


def test_the_import_is_cheap_and_imports_no_kernels() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    taken_ms, kernels = done.stdout.split()
    assert float(taken_ms) < 30.0
    assert kernels == "False"


def test_groups_of_an_unknown_number_of_experts_are_chosen_from() -> None:
    logits = _draw(3, 16)
    words = {"top": 2, "groups": 4, "keep": 2}
    traced = tf.function(
        lambda x: ops.topk_sigmoid(x, **words), autograph=False, input_signature=[tf.TensorSpec([None, None])]
    )
    for got, wanted in zip(traced(logits), ops.topk_sigmoid(logits, **words), strict=True):
        np.testing.assert_array_equal(got, wanted)
