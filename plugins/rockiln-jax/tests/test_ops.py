"""Functions of ops: signatures, errors, and that jit, grad, vmap, scan and checkpoint agree with plain calls."""

from __future__ import annotations

import inspect
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from rockiln_jax import explain, ops
from rockiln_kernels.table import read_table


def _draw(*shape: int, seed: int = 0, dtype: jnp.dtype = jnp.float32) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


X, WEIGHT = _draw(3, 5, 64), _draw(64, seed=1)


def test_every_op_has_a_function_with_signature_and_words() -> None:
    for name, spec in read_table().items():
        function = getattr(ops, name)
        assert spec.summary in function.__doc__
        assert list(inspect.signature(function).parameters)[: len(spec.inputs)] == [item.name for item in spec.inputs]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ops.nothing


def test_outputs_have_the_inputs_leading_dims() -> None:
    assert ops.rms_norm(X, WEIGHT).shape == X.shape
    q, scale = ops.rms_norm_fp8(X, WEIGHT, out_dtype=jnp.float8_e4m3fn)
    assert (q.shape, q.dtype, scale.shape) == (X.shape, jnp.float8_e4m3fn, (15,))
    assert ops.quant_mxfp6(X, fp6_format="e3m2")[0].shape == (3, 5, 48)


def test_what_is_no_call_is_told_with_shapes_and_rule() -> None:
    with pytest.raises(TypeError, match=r"rms_norm: missing a required argument: 'weight'; it takes \(x, weight"):
        ops.rms_norm(X)
    with pytest.raises(TypeError, match="weight is bf16, other arrays are f32"):
        ops.rms_norm(X, WEIGHT.astype(jnp.bfloat16))
    with pytest.raises(ValueError, match=r"weight has N = 63, expected 64 \[x=f32\[3,5,64\] weight=f32\[63\]"):
        ops.rms_norm(X, WEIGHT[:63])
    with pytest.raises(ValueError, match="the length of a row is no multiple of 32"):
        ops.quant_mxfp4(X[..., :33])
    with pytest.raises(TypeError, match=r"top is 1\.5, not a whole number"):
        ops.topk_softmax(X, top=1.5)
    with pytest.raises(TypeError, match="eps is traced"):
        jax.jit(lambda eps: ops.rms_norm(X, WEIGHT, eps=eps))(1e-5)
    with pytest.raises(TypeError, match="rms_norm: x is a str, of which JAX makes no array"):
        ops.rms_norm("x", WEIGHT)
    with pytest.raises(TypeError, match="rms_norm: x is a list, of which JAX makes no array"):
        explain("rms_norm", [[1.0], [1.0, 2.0]], WEIGHT, arch="gfx942")
    with pytest.raises(TypeError, match="rms_norm: x is key<fry>, not one of f32"):
        ops.rms_norm(jax.random.key(0), WEIGHT)
    with pytest.raises(TypeError, match="Q = nonsense is not one of e4m3"):
        ops.rms_norm_fp8(X, WEIGHT, out_dtype="nonsense")
    with pytest.raises(TypeError, match="Q = bf16 is not one of e4m3"):
        ops.rms_norm_fp8(X, WEIGHT, out_dtype=jnp.bfloat16)


def test_empty_arrays_are_calls() -> None:
    assert ops.rms_norm(X[:0], WEIGHT).shape == (0, 5, 64)
    assert jax.vmap(lambda x: ops.rms_norm(x, WEIGHT))(X[:0]).shape == (0, 5, 64)


def test_jit_scan_and_checkpoint_agree_with_a_plain_call() -> None:
    plain = ops.rms_norm(X, WEIGHT)
    np.testing.assert_allclose(jax.jit(ops.rms_norm)(X, WEIGHT), plain, rtol=1e-6)
    _, scanned = jax.lax.scan(lambda carry, x: (carry, ops.rms_norm(x, WEIGHT)), 0, X)
    np.testing.assert_allclose(scanned, plain, rtol=1e-6)
    slope = jax.grad(lambda x: ops.rms_norm(x, WEIGHT).sum())
    again = jax.grad(lambda x: jax.checkpoint(ops.rms_norm)(x, WEIGHT).sum())
    np.testing.assert_allclose(again(X), slope(X), rtol=1e-5, atol=1e-6)


def test_with_jit_disabled_ops_are_composed() -> None:
    plain = ops.rms_norm(X, WEIGHT), ops.gemm_silu(X, X[0])
    slope = jax.grad(lambda x: ops.rms_norm(x, WEIGHT).sum())(X)
    with jax.disable_jit():
        for got, wanted in zip((ops.rms_norm(X, WEIGHT), ops.gemm_silu(X, X[0])), plain, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(jax.grad(lambda x: ops.rms_norm(x, WEIGHT).sum())(X), slope, rtol=1e-4, atol=1e-5)
        with pytest.raises(ValueError, match="weight has N = 63"):
            ops.rms_norm(X, WEIGHT[:63])


def test_constants_of_a_traced_function_are_calls() -> None:
    text = str(jax.make_jaxpr(lambda y: ops.rms_norm(X, WEIGHT) + y)(X))
    assert "rockiln_rms_norm" in text
    np.testing.assert_allclose(jax.jit(lambda: ops.rms_norm(X, WEIGHT))(), ops.rms_norm(X, WEIGHT), rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["rms_norm", "silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "swiglu_and_mul", "rope"]
)
def test_gradients_of_the_spec_are_right(name: str) -> None:
    arguments = {
        "rms_norm": (X, WEIGHT),
        "rope": (X.reshape(3, 5, 4, 16), _draw(9, 8), _draw(9, 8, seed=1), jnp.arange(15, dtype=jnp.int32) % 9),
    }.get(name, (X,))
    varied = [item for item in arguments if jnp.issubdtype(item.dtype, jnp.inexact)]
    rest = arguments[len(varied) :]
    check_grads(lambda *own: getattr(ops, name)(*own, *rest), varied, order=1, modes=["rev"], rtol=2e-2, atol=2e-2)


def test_gradients_of_attention_are_those_of_its_composition() -> None:
    from rockiln_jax.composed import compose

    starts = jnp.array([0, 3, 8], jnp.int32)
    arrays = [_draw(8, heads, 16, seed=seed, dtype=jnp.float16) for heads, seed in ((4, 2), (2, 3), (2, 4))]
    words = {"scale": 0.25, "max_seqlen_q": 5, "max_seqlen_k": 0, "causal": True, "window_left": -1}
    sinks = _draw(4, seed=9)

    def total(function: object, *own: jax.Array) -> jax.Array:
        out, lse = function(*own[:3], starts, starts, own[3], **words)  # type: ignore[operator]
        return (out.astype(jnp.float32) ** 2).sum() + LSE * lse.sum()

    for weight in (0.0, 1.0):  # with the slope of lse, which the gradient's op does not take, and without
        LSE = weight  # noqa: N806
        got = jax.grad(lambda *own: total(ops.attention_prefill, *own), argnums=(0, 1, 2, 3))(*arrays, sinks)
        wanted = jax.grad(lambda *own: total(compose("attention_prefill"), *own), argnums=(0, 1, 2, 3))(*arrays, sinks)
        for own, expected in zip(got, wanted, strict=True):
            pair = (np.asarray(item, np.float32) for item in (own, expected))
            np.testing.assert_allclose(*pair, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("modes", [["fwd"], ["rev"]])
def test_ops_without_a_gradient_differentiate_by_their_composition(modes: list[str]) -> None:
    a, b = _draw(3, 8), _draw(5, 8, seed=1)
    check_grads(ops.gemm_silu, (a, b), order=1, modes=modes, rtol=2e-2, atol=2e-2)
    check_grads(lambda x: ops.topk_softmax(x, top=2)[0], (a,), order=1, modes=modes, rtol=2e-2, atol=2e-2)


def test_vmap_folds_the_batch_where_a_leading_dim_folds() -> None:
    text = str(jax.make_jaxpr(jax.vmap(lambda x: ops.rms_norm(x, WEIGHT)))(X))
    assert "rockiln_rms_norm" in text
    assert "scan" not in text
    for place in range(3):
        got = jax.vmap(lambda x: ops.rms_norm_fp8(x.reshape(-1, 64), WEIGHT, out_dtype="e4m3"), in_axes=1)(X)
        one = ops.rms_norm_fp8(X[:, place], WEIGHT, out_dtype="e4m3")
        for own, expected in zip(got, one, strict=True):
            assert np.array_equal(np.asarray(own[place]).view(np.uint8), np.asarray(expected).view(np.uint8))


def test_vmap_of_what_does_not_fold_is_the_loop() -> None:
    b = _draw(4, 5, 8, seed=1)
    a = _draw(4, 3, 8)
    looped = jnp.stack([ops.gemm(own, other) for own, other in zip(a, b, strict=True)])
    np.testing.assert_allclose(jax.vmap(ops.gemm)(a, b), looped, rtol=1e-5, atol=1e-6)
    got = jax.vmap(lambda weight: ops.rms_norm(X, weight))(jnp.stack([WEIGHT, WEIGHT * 2]))
    np.testing.assert_allclose(got[1], ops.rms_norm(X, WEIGHT * 2), rtol=1e-5)


def test_doubles_are_computed_in_double() -> None:
    with jax.experimental.enable_x64():
        x = jnp.asarray(np.random.default_rng(0).standard_normal((3, 64)))
        y = ops.rms_norm(x, jnp.ones(64))
        assert y.dtype == jnp.float64
        np.testing.assert_allclose(y, x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-6), rtol=1e-12)


PROBE = """
import sys, time
import jax, inspect, logging
start = time.process_time()
import rockiln_jax
print((time.process_time() - start) * 1e3, "rockiln_kernels" in sys.modules)
"""


def test_the_import_is_cheap_and_imports_no_kernels() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    taken_ms, kernels = done.stdout.split()
    assert float(taken_ms) < 30.0
    assert kernels == "False"
