"""check_grads of every op that has slopes: compositions in float64, and ops against them; a few by day."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from golden_calls import make_call, pick_case
from harness.framework_calls import find_difference
from harness.rotation import NIGHTLY, read_rotation
from rockiln_jax.composed import compose
from rockiln_jax.forms import make_form
from rockiln_jax.ops import call_op
from rockiln_kernels.golden import GoldenCase
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table

FLOATS = ("f32", "f16", "bf16")


def has_slopes(spec: OpSpec) -> bool:
    """Arrays of numbers in, and out numbers only: codes are steps."""
    axes = dict(spec.dtype_axes)
    numbers = [all(name in FLOATS for name in axes.get(item.dtype, (item.dtype,))) for item in spec.outputs]
    ids = [item.dtype == "i32" for item in spec.outputs]
    into = any(all(name in FLOATS for name in axes.get(item.dtype, (item.dtype,))) for item in spec.inputs)
    return into and not spec.name.startswith("dequant") and all(a or b for a, b in zip(numbers, ids, strict=True))


OPS = sorted(name for name, spec in read_table().items() if has_slopes(spec))


DAILY = ("fused_moe", "gemm_silu", "rms_norm", "rope", "silu_and_mul")


def pick_ops() -> list[str]:
    """Every one by night."""
    return OPS if NIGHTLY else sorted(DAILY)


def _split(case: GoldenCase, dtype: Any) -> tuple[list[str], list[jax.Array], dict[str, jax.Array]]:
    """Names and values of what is varied, small and of the dtype (its own without one), and what is not."""
    own = {name: jnp.asarray(array) for name, array in case.inputs.items()}
    varied = [name for name, array in own.items() if str(array.dtype) in {"float32", "float16", "bfloat16"}]
    values = [own[name].astype(dtype or own[name].dtype) for name in varied]
    return varied, values, {name: array for name, array in own.items() if name not in varied}


def _leave_steps(case: GoldenCase) -> GoldenCase:
    """No value lies where gates cut, and no logits are equal: there outputs jump, and differences say nothing."""
    limit = float(case.scalars.get("limit", 0.0))

    def move(name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if name == "logits":
            return array.astype(np.float32) + np.linspace(0.0, 1.0, array.shape[-1], dtype=np.float32)
        near = np.abs(np.abs(array.astype(np.float64)) - limit) < 0.05
        return np.where(near, array * 0.5, array).astype(array.dtype) if limit and name in {"x", "dy"} else array

    return replace(case, inputs={name: move(name, array) for name, array in case.inputs.items()})


def _compose(case: GoldenCase, names: list[str], rest: dict[str, jax.Array], *values: jax.Array) -> list[jax.Array]:
    """Outputs that are numbers."""
    spec = make_form(case.op).spec
    given = dict(zip(names, values, strict=True)) | rest
    scalars = {item.name: item.default for item in spec.scalars} | dict(case.scalars)
    dtypes = {axis: case.dtypes[axis] for axis in make_form(case.op).open_axes}
    outputs = compose(case.op)(*(given.get(array.name) for array in spec.inputs), **scalars, **dtypes)
    return [jnp.where(jnp.isfinite(item), item, 0) for item in outputs if jnp.issubdtype(item.dtype, jnp.floating)]


@pytest.mark.parametrize("op", pick_ops())
def test_slopes_of_compositions_are_right_in_float64(op: str) -> None:
    case = pick_case(op, read_rotation())
    with jax.experimental.enable_x64():
        names, values, rest = _split(_leave_steps(case), jnp.float64)
        function = partial(_compose, case, names, rest)
        wide = [place for place, item in enumerate(function(*values)) if item.dtype == jnp.float64]
        if not wide:
            pytest.skip("its outputs are f32 or bf16 whatever comes in: too coarse for differences")
        check_grads(
            jax.jit(lambda *own: [function(*own)[place] for place in wide]), values, order=1, modes=["fwd", "rev"],
            atol=1e-4, rtol=1e-4, eps=1e-5,
        )  # fmt: skip


@pytest.mark.parametrize("op", pick_ops())
def test_slopes_of_ops_are_those_of_their_compositions(op: str) -> None:
    case = pick_case(op, read_rotation())
    names, values, rest = _split(case, None)
    call, arrays = make_call(case)
    order = [array.name for array in make_form(op).spec.inputs if array.name in case.inputs]

    def run(*own: jax.Array) -> list[jax.Array]:
        given = dict(zip(names, own, strict=True)) | rest
        outputs = call(*(given[name] for name in order))
        return [jnp.where(jnp.isfinite(item), item, 0) for item in outputs if jnp.issubdtype(item.dtype, jnp.floating)]

    assert len(arrays) == len(order)
    outputs, pull = jax.vjp(jax.jit(run), *values)
    _, pull_composed = jax.vjp(jax.jit(partial(_compose, case, names, rest)), *values)
    generator = np.random.default_rng(0)
    slopes = [jnp.asarray(generator.standard_normal(item.shape), item.dtype) for item in outputs]
    for name, got, wanted in zip(names, pull(slopes), pull_composed(slopes), strict=True):
        assert find_difference(got, wanted) == "", f"{op}: slope of {name}"


@pytest.mark.parametrize("op", ["gelu_and_mul", "gelu_tanh_and_mul", "silu_and_mul", "swiglu_and_mul"])
def test_at_the_limit_itself_slopes_are_those_of_what_is_not_cut(op: str) -> None:
    scalars = {item.name: item.default for item in make_form(op).spec.scalars} | {"limit": 2.0}
    x = jnp.array([[2.0, -12.0, 2.5, 0.5, 2.0, -2.0, 1.0, 3.0]])  # g, then u; -12: exp overflows
    composed = jax.grad(lambda own: compose(op)(own, **scalars)[0].sum())(x)
    np.testing.assert_allclose(
        composed, jax.grad(lambda own: call_op(op, own, limit=2.0).sum())(x), rtol=1e-5, atol=1e-6
    )
    assert composed[0, 0] != 0.0
    assert composed[0, 2] == composed[0, 7] == 0.0


@pytest.mark.parametrize("op", ["gelu_and_mul", "gelu_tanh_and_mul", "silu_and_mul"])
def test_slopes_far_from_0_are_those_of_a_line(op: str) -> None:
    far = jnp.array([[-1e30, -1e20, 1e20, 1e30, 2.0, 2.0, 2.0, 2.0]])
    slopes = jax.grad(lambda x: call_op(op, x)[0, :].sum())(far)[0, :4]
    np.testing.assert_array_equal(slopes, [0.0, 0.0, 2.0, 2.0])
