"""Ops by JAX, through the handler, a fake HIP and gfxemu: the bytes that gfxemu alone computes; gradients; errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fake.cpu_route import route_cpu
from fake_hip.machine import FakeHip
from harness.execute import Prepared, describe_call, execute, prepare
from harness.judge import make_cases
from harness.rotation import read_rotation
from rockiln_jax import ops
from rockiln_jax.calls import OpParams
from rockiln_jax.forms import make_form
from rockiln_jax.primitives import bind_call
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.dispatch import Dispatcher
from rockiln_kernels.pack.build import Pack, build_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants, read_families, read_table

GPUS = ("gfx942", "gfx950", "gfx1100", "gfx1201")


def _build(family: str, arch: str, keys: frozenset[str] = frozenset()) -> Pack:
    variants = make_family_variants(family, ARCHS[arch])
    chosen = [item for item in variants if item.key in keys] or [variants[read_rotation() % len(variants)]]
    return build_pack(ARCHS[arch], chosen, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


@pytest.mark.parametrize("family", read_families())
def test_bytes_are_the_emulated_ones(family: str, tmp_path: Path) -> None:
    arch = GPUS[(read_rotation() + read_families().index(family)) % len(GPUS)]
    pack = _build(family, arch)
    if not pack.manifest.variants:
        pytest.skip(f"absent from the pack: {pack.manifest.absent[0].reason}")
    write_pack(pack, tmp_path / "pack")
    [variant] = pack.manifest.variants
    hip = FakeHip(arch)
    with route_cpu(hip, arch, {arch: tmp_path / "pack"}) as dispatcher:
        _compare(dispatcher, pack, variant.op, variant.cell)
    assert hip.count("launches") >= len(variant.launches)


def _compare(dispatcher: Dispatcher, pack: Pack, op: str, cell: str) -> None:
    """The first case that the variant takes, as JAX has it: contiguous."""
    spec, form = read_table()[op], make_form(op)
    [variant] = pack.manifest.variants
    for case in make_cases(op, cell):
        arrays = {name: np.ascontiguousarray(array) for name, array in case.arrays.items()}
        case = replace(case, arrays=arrays)  # noqa: PLW2901  # as JAX has it
        plan = dispatcher.planner.make_plan(describe_call(spec, cell, case), pack.manifest.arch)
        if case.is_misaligned or plan.kernel != variant.key:
            continue
        prepared = prepare(spec, cell, case, pack, variant)
        assert isinstance(prepared, Prepared)
        expected = execute(prepared, case, pack)
        scalars = {item.name: item.default for item in spec.scalars} | dict(case.scalars)
        params = OpParams(
            present=tuple(array.name in arrays for array in spec.inputs),
            scalars=form.bind_scalars(scalars),
            dtypes=tuple(spec.cell_dtypes(cell)[axis] for axis in form.open_axes),
        )
        given = [jnp.asarray(arrays[array.name]) for array in spec.inputs if array.name in arrays]
        for output, got in zip(spec.outputs, bind_call(op, params, given), strict=True):
            assert np.asarray(got).tobytes() == expected[output.name].tobytes(), f"{case.name}: {output.name}"
        return
    pytest.skip("no case of this variant, contiguous and aligned")


@pytest.fixture(scope="module")
def norms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keys = frozenset({"rms_norm/f32/row1024", "rms_norm_backward/f32/row1024"})
    folder = tmp_path_factory.mktemp("norms") / "pack"
    write_pack(_build("rms_norm", "gfx942", keys), folder)
    return folder


@pytest.fixture
def hip(norms: Path) -> Iterator[FakeHip]:
    own = FakeHip("gfx942")
    with route_cpu(own, "gfx942", {"gfx942": norms}):
        yield own


X = jnp.asarray(np.random.default_rng(0).standard_normal((4, 512)), jnp.float32)
WEIGHT = jnp.ones(512, jnp.float32)


def test_gradients_come_from_the_kernels(hip: FakeHip) -> None:
    got = jax.grad(lambda x, weight: (ops.rms_norm(x, weight) ** 2).sum(), argnums=(0, 1))(X, WEIGHT)
    assert hip.count("launches") == 3  # the op, and its gradient's two kernels
    from rockiln_jax.composed import compose

    def total(x: jax.Array, weight: jax.Array) -> jax.Array:
        return (compose("rms_norm")(x, weight, eps=1e-6, weight_offset=0.0)[0] ** 2).sum()

    for own, expected in zip(got, jax.grad(total, argnums=(0, 1))(X, WEIGHT), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-5)


def test_a_batch_that_folds_is_one_launch(hip: FakeHip) -> None:
    got = jax.jit(jax.vmap(lambda x: ops.rms_norm(x, WEIGHT)))(X.reshape(2, 2, 512))
    assert hip.count("launches") == 1
    np.testing.assert_allclose(got.reshape(4, 512), X / np.sqrt(np.mean(X * X, -1, keepdims=True) + 1e-6), rtol=1e-5)


def test_what_the_pack_lacks_is_composed(hip: FakeHip) -> None:
    ops.rms_norm(X.astype(jnp.bfloat16), WEIGHT.astype(jnp.bfloat16))
    ops.silu_and_mul(X)
    assert hip.count("launches") == 0


def test_a_call_that_is_lost_between_lowering_and_running_says_why(hip: FakeHip, norms: Path) -> None:
    compiled = jax.jit(ops.rms_norm).lower(X, WEIGHT).compile()
    from fake_hip.dispatching import install_over

    lost = pytest.raises(jax.errors.JaxRuntimeError, match=r"compiled for the pack, which does not run it: emulated")
    with install_over(hip, {"gfx942": norms}, environ={"ROCKILN_RECORDS": "/nowhere"}), lost:
        jax.block_until_ready(compiled(X, WEIGHT))
