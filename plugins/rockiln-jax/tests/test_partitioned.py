"""Sharded arrays under jit: each device runs its part, and nothing is gathered that need not be; as on one device."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from fake.cpu_route import route_cpu
from fake_hip.machine import FakeHip
from golden_calls import make_call
from harness.framework_calls import find_difference
from harness.rotation import NIGHTLY, read_rotation
from random_calls.planned import write_planned
from rockiln_jax import lowering, ops
from rockiln_jax.calls import OpParams
from rockiln_jax.forms import make_form
from rockiln_jax.ops import bind_words
from rockiln_jax.partitioned import choose_shares, make_layout
from rockiln_jax.split_rules import Dim, find_rule
from rockiln_kernels.golden import GoldenCase, read_golden
from rockiln_kernels.table import read_families, read_origins, read_table
from sharded_calls import ShardedCall, draw, list_gemms, list_sharded, make_mesh

SENT = re.compile(r"(all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)(?:-start)?\(")
CALLS = list_sharded()
PARTITIONERS = {"gspmd": False, "shardy": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planned")
    write_planned(folder, "gfx942")
    return folder


@pytest.fixture(params=list(PARTITIONERS))
def partitioner(request: pytest.FixtureRequest) -> Iterator[str]:
    before = jax.config.jax_use_shardy_partitioner  # type: ignore[attr-defined]
    jax.config.update("jax_use_shardy_partitioner", PARTITIONERS[request.param])
    jax.clear_caches()
    yield request.param
    jax.config.update("jax_use_shardy_partitioner", before)
    jax.clear_caches()


@pytest.fixture
def _divides_all(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compositions of all ops are divided by the rule, too, so that what it divides can be run here."""
    monkeypatch.setattr(lowering, "DIVIDED", ("",))
    jax.clear_caches()
    yield
    jax.clear_caches()


@pytest.mark.usefixtures("partitioner")
def test_custom_calls_are_divided_and_send_no_more_than_they_must(folder: Path) -> None:
    faults = []
    with route_cpu(FakeHip("gfx942"), "gfx942", {"gfx942": folder}):
        for call in CALLS:
            text = jax.jit(call.function).lower(*call.place(make_mesh())).compile().as_text()
            sent = tuple(sorted(set(SENT.findall(text))))
            if (sent, text.count('"rockiln_host_call"')) != (call.sent, call.calls):
                faults.append(f"{call.name}: sends {sent}, has {text.count(chr(34) + 'rockiln_host_call' + chr(34))}")
    assert faults == []


@pytest.mark.usefixtures("_divides_all", "partitioner")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_divided_calls_give_what_one_device_gives(call: ShardedCall) -> None:
    wanted = jax.jit(call.function)(*call.arrays)
    got = jax.jit(call.function)(*call.place(make_mesh()))
    for place, (own, expected) in enumerate(zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True)):
        assert find_difference(own, expected) == "", f"output {place}"


def pick_ops() -> list[str]:
    """An op of each family by day."""
    origins = read_origins()
    families = [sorted(op for op in origins if origins[op] == family) for family in read_families()]
    return sorted(read_table()) if NIGHTLY else [names[read_rotation() % len(names)] for names in families]


def _bind(case: GoldenCase) -> tuple[OpParams, list[jax.Array]]:
    form = make_form(case.op)
    words = dict(case.scalars)
    words |= {"out_dtype": case.dtypes[form.dtype_axis]} if form.dtype_axis else {}
    words |= {"fp6_format": case.dtypes[form.format_axis]} if form.format_axis else {}
    arrays = [case.inputs.get(array.name) for array in form.spec.inputs]
    _, params, given = bind_words(case.op, tuple(arrays), words)
    return params, [jnp.asarray(array) for array in given]


def _shard(mesh: Mesh, dims: Sequence[Dim], factor: str) -> NamedSharding:
    """What has the factor, and can be halved, is."""
    axes = ("x" if dim.factor == factor and dim.size % 2 == 0 else None for dim in dims)
    return NamedSharding(mesh, PartitionSpec(*axes))


def _list_cases(op: str) -> Iterator[GoldenCase]:
    """Golden ones; those of blocks of 128 by 128 are of one block each, so the first comes with four, too."""
    cases = read_golden(op)
    yield from cases
    if op == "quant_fp8_block":
        x = cases[0].inputs["x"]
        numbers = np.random.default_rng(7).standard_normal((256, 256))
        yield replace(cases[0], name="blocks", inputs={"x": numbers.astype(x.dtype)})


@pytest.mark.usefixtures("_divides_all")
@pytest.mark.parametrize("op", pick_ops())
def test_every_factor_of_a_golden_case_can_be_split(op: str) -> None:
    mesh = Mesh(np.array(jax.devices())[:2], ("x",))
    found: set[str] = set()
    for case in _list_cases(op):
        params, arrays = _bind(case)
        if not all(array.size for array in arrays):
            continue
        layout = make_layout(make_form(op), params, arrays)
        for factor in layout.factors:
            split = [_shard(mesh, dims, factor) for dims in layout.inputs]
            if factor in found or factor not in choose_shares(layout, split, mesh).axes:
                continue
            call, given = make_call(case)
            placed = [jax.device_put(array, own) for array, own in zip(given, split, strict=True)]
            for got, wanted in zip(jax.jit(call)(*placed), jax.jit(call)(*given), strict=True):
                assert find_difference(got, wanted) == "", f"{case.cell}/{case.name}: {factor}"
            found.add(factor)
    assert found or not find_rule(op)


def test_a_dim_that_does_not_divide_is_gathered() -> None:
    a, b = draw(6, 64), draw(128, 64)
    call = ShardedCall(name="", function=ops.gemm, arrays=(a, b), specs=((), ("x",)))
    mesh = make_mesh()
    params = bind_words("gemm", (a, b), {})[1]
    layout = make_layout(make_form("gemm"), params, (a, b))
    rows = NamedSharding(mesh, PartitionSpec("x"))
    assert choose_shares(layout, [rows, rows], mesh).axes == {"N": ("x",)}  # 6 rows are no multiple of 4
    np.testing.assert_array_equal(jax.jit(call.function)(*call.place(mesh)), ops.gemm(a, b))


def test_what_blocks_hold_together_is_not_split() -> None:
    a, scale = jnp.zeros((4, 384), jnp.float8_e4m3fn), jnp.ones((4, 3), jnp.float32)
    b, scales = jnp.zeros((256, 384), jnp.float8_e4m3fn), jnp.ones((2, 3), jnp.float32)
    params = bind_words("gemm_fp8_block", (a, b, scale, scales), {})[1]
    layout = make_layout(make_form("gemm_fp8_block"), params, (a, b, scale, scales))
    counts = {dim.factor: dim.count for dims in layout.inputs for dim in dims}
    assert {name: counts[name] for name in ("M0", "N", "K")} == {"M0": 4, "N": 2, "K": 3}


def test_an_export_is_one_custom_call_for_all_devices(folder: Path) -> None:
    call = list_gemms()[0]
    allowed = [export.DisabledSafetyCheck.custom_call("rockiln_host_call")]
    with route_cpu(FakeHip("gfx942"), "gfx942", {"gfx942": folder}):
        exported = export.export(jax.jit(call.function), disabled_checks=allowed)(*call.place(make_mesh()))
    assert "rockiln_host_call" in exported.mlir_module()
    assert "CustomSPMDPartitioning" not in exported.mlir_module()
