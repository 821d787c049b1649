"""Ops by JAX, through the handler, a fake HIP and gfxemu: the bytes that gfxemu alone computes; gradients; errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cased_calls import CasedCall, list_cases
from fake.cpu_route import route_cpu
from fake_hip.machine import FakeHip
from harness.execute import Prepared, describe_call, execute, prepare
from harness.framework_calls import find_difference
from harness.rotation import NIGHTLY, read_rotation
from rockiln_jax import ops
from rockiln_jax.primitives import bind_call
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.dispatch import Dispatcher
from rockiln_kernels.pack.build import Pack, build_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants, read_families, read_table

GPUS = ("gfx942", "gfx950", "gfx1100", "gfx1201")


def pick_cells() -> list[tuple[str, str]]:
    """Each family on one of the four GPUs by day, on all by night."""
    rotation, families = read_rotation(), read_families()
    every = [(family, arch) for family in families for arch in GPUS]
    return [(own, gpu) for own, gpu in every if NIGHTLY or gpu == GPUS[(rotation + families.index(own)) % len(GPUS)]]


def _build(family: str, arch: str, keys: frozenset[str] = frozenset()) -> Pack:
    """The named variants, else one by rotation."""
    variants = make_family_variants(family, ARCHS[arch])
    chosen = [item for item in variants if item.key in keys] or [variants[read_rotation() % len(variants)]]
    return build_pack(ARCHS[arch], chosen, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


@pytest.mark.parametrize(("family", "arch"), pick_cells())
def test_bytes_are_the_emulated_ones_and_golden(family: str, arch: str, tmp_path: Path) -> None:
    pack = _build(family, arch)
    if not pack.manifest.variants:
        pytest.skip(f"absent from the pack: {pack.manifest.absent[0].reason}")
    write_pack(pack, tmp_path / "pack")
    [variant] = pack.manifest.variants
    hip = FakeHip(arch)
    with route_cpu(hip, arch, {arch: tmp_path / "pack"}) as dispatcher:
        if not any(_compare(dispatcher, pack, case) for case in list_cases(variant.op, variant.cell)):
            pytest.skip("no case of this variant, contiguous and aligned")
    assert hip.count("launches") >= len(variant.launches)


def _compare(dispatcher: Dispatcher, pack: Pack, cased: CasedCall) -> bool:
    """Whether the variant takes the case; then JAX's bytes are those of gfxemu alone, and right by a golden case."""
    spec, case = read_table()[cased.op], cased.case
    [variant] = pack.manifest.variants
    if dispatcher.planner.make_plan(describe_call(spec, cased.cell, case), pack.manifest.arch).kernel != variant.key:
        return False
    prepared = prepare(spec, cased.cell, case, pack, variant)
    assert isinstance(prepared, Prepared)
    expected = execute(prepared, case, pack)
    params, given = cased.bind()
    got = dict(zip((item.name for item in spec.outputs), bind_call(cased.op, params, given), strict=True))
    for name, value in got.items():
        assert np.asarray(value).tobytes() == expected[name].tobytes(), f"{case.name}: {name}"
    if cased.golden:
        assert cased.golden.find_faults({name: np.asarray(value) for name, value in got.items()}) == []
    return True


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


def test_each_device_runs_its_part_of_a_sharded_call(tmp_path: Path) -> None:
    write_pack(_build("gemm", "gfx942", frozenset({"gemm/f32/m64n64k32-aligned"})), tmp_path / "pack")
    hip, mesh = FakeHip("gfx942"), jax.sharding.Mesh(np.array(jax.devices()[:2]), ("k",))
    columns = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(None, "k"))
    generator = np.random.default_rng(0)
    a, b = (jnp.asarray(generator.standard_normal((rows, 128)), jnp.float32) for rows in (32, 64))
    wanted = ops.gemm(a, b)
    with route_cpu(hip, "gfx942", {"gfx942": tmp_path / "pack"}):
        multiply, parts = jax.jit(ops.gemm), [jax.device_put(array, columns) for array in (a, b)]
        assert not [found for _ in range(30) if (found := find_difference(multiply(*parts), wanted))]
    assert hip.count("launches") == 2 * 30
