"""Lowering for `rocm` without a GPU: one custom call where the pack of the arch runs it, jax.numpy elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import export

from random_calls.planned import write_planned
from rockiln_jax import Registration, explain, ops, register
from rockiln_jax.forms import make_form
from rockiln_jax.lowering import write_attributes
from rockiln_jax.plugin import initialize
from rockiln_jax.primitives import bind_call
from rockiln_kernels.dispatch import Settings, uninstall
from rockiln_kernels.golden import read_golden
from rockiln_kernels.table import read_table
from test_composed import make_params

CALL = re.compile(r"stablehlo\.custom_call @rockiln_call\((.*?)\) \{(.*?)\} : \((.*?)\) -> (.*)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planned")
    write_planned(folder, "gfx942")
    return folder


@pytest.fixture(scope="module", autouse=True)
def registered(folder: Path) -> Iterator[None]:
    registration = _register(folder)
    assert registration.rejected == ()
    assert registration.registered == ("FFI target rockiln_call for ROCM", "lowering of rocm")
    yield
    registration.undo()
    uninstall()


def _register(folder: Path) -> Registration:
    environ = {"ROCKILN_EMULATED_OK": "1", "ROCKILN_RECORDS": "/nowhere"}
    return register(compat=False, arch="gfx942", settings=Settings(packs={"gfx942": folder}, environ=environ))


def _lower(function: object, *arrays: jax.Array, platform: str = "rocm") -> str:
    jax.clear_caches()
    text: str = jax.jit(function).trace(*arrays).lower(lowering_platforms=(platform,)).as_text()  # type: ignore[call-overload]
    return text


@pytest.mark.parametrize("op", sorted(read_table()))
def test_an_op_that_the_pack_runs_is_one_custom_call(op: str) -> None:
    for case in read_golden(op):
        params, arrays = make_params(case)
        text = _lower(lambda *own: bind_call(op, params, own), *arrays)  # noqa: B023
        calls = CALL.findall(text)
        if not calls:  # this dtype or shape is not the pack's on gfx942
            assert "rockiln_call" not in text
            continue
        [(operands, attributes, inputs, outputs)] = calls
        assert text.count("stablehlo.") == 1
        assert operands.count("%") == len(arrays)
        assert f'op = "{op}"' in attributes
        assert inputs.count("tensor<") == len(arrays)
        assert outputs.count("tensor<") == len(read_table()[op].outputs) or outputs.startswith("tuple")
        return
    pytest.fail(f"{op}: no golden case is the pack's on gfx942")


def test_the_attributes_are_those_that_the_handler_reads() -> None:
    case = next(item for item in read_golden("gemm_fp8_swiglu") if "bias" not in item.inputs)
    params, _ = make_params(case)
    written = write_attributes(make_form("gemm_fp8_swiglu"), params)
    assert list(written["inputs"]) == [0, 1, 2, 3, -1]
    assert list(written["scalar_kinds"]) == [2]
    x = jnp.ones((4, 1024), jnp.bfloat16)
    text = _lower(lambda own: ops.rms_norm_fp8(own, x[0], out_dtype="e4m3fnuz", eps=1.0), x)
    [(_, attributes, _, _)] = CALL.findall(text)
    assert "scalar_bits = dense<[1065353216, 0]> : tensor<2xi64>" in attributes  # 1.0f
    assert "dtypes = dense<6> : tensor<1xi32>" in attributes


def test_other_platforms_and_other_dtypes_are_composed() -> None:
    x = jnp.ones((4, 1024), jnp.bfloat16)
    assert "rockiln_call" in _lower(lambda own: ops.rms_norm(own, own[0]), x)
    assert "rockiln_call" not in _lower(lambda own: ops.rms_norm(own, own[0]), x, platform="cpu")
    assert "rockiln_call" not in _lower(lambda own: ops.rms_norm(own, own[0]), x, platform="cuda")


def test_gradients_lower_to_the_gradients_custom_call() -> None:
    x = jnp.ones((4, 1024), jnp.float32)
    text = _lower(jax.grad(lambda own: ops.silu_and_mul(own).sum()), x)
    assert 'op = "silu_and_mul_backward"' in text


def test_explain_names_kernel_and_reasons_without_a_gpu() -> None:
    x = jax.ShapeDtypeStruct((4, 4096), jnp.bfloat16)
    plan = explain("rms_norm", x, jax.ShapeDtypeStruct((4096,), jnp.bfloat16), arch="gfx942", eps=1e-5)
    assert (plan.provider, plan.kernel) == ("pack", "rms_norm/bf16/row4096")
    assert plan.call == "x=bf16[4,4096] weight=bf16[4096] eps=1e-05 weight_offset=0"
    reasons = {item.candidate: item.reason for item in plan.rejected}
    assert reasons["rms_norm/bf16/row1024"] == "rows are longer than 1024"
    other = explain("silu_and_mul", x, arch="gfx1100")
    assert other.reason == "no pack for gfx1100 is installed: pip install rockiln-kernels-gfx1100"


def test_an_export_for_rocm_needs_the_check_disabled() -> None:
    x = jnp.ones((4, 1024), jnp.bfloat16)
    function = jax.jit(lambda own: ops.rms_norm(own, own[0]))
    jax.clear_caches()
    with pytest.raises(ValueError, match="rockiln_call"):
        export.export(function, platforms=("rocm",))(x)
    allowed = [export.DisabledSafetyCheck.custom_call("rockiln_call")]
    exported = export.export(function, platforms=("rocm",), disabled_checks=allowed)(x)
    assert exported.platforms == ("rocm",)
    assert "rockiln_call" in exported.mlir_module()


def test_after_undo_calls_are_composed(folder: Path) -> None:
    x = jnp.ones((4, 1024), jnp.bfloat16)
    registration = _register(folder)
    assert "rockiln_call" in _lower(lambda own: ops.rms_norm(own, own[0]), x)
    registration.undo()
    assert "rockiln_call" not in _lower(lambda own: ops.rms_norm(own, own[0]), x)
    _register(folder)


def test_the_entry_point_leaves_a_registration_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rockiln_jax.plugin.has_rocm", lambda: True)
    initialize()
    x = jnp.ones((4, 1024), jnp.bfloat16)
    assert "rockiln_call" in _lower(lambda own: ops.rms_norm(own, own[0]), x)


def test_the_entry_point_is_declared() -> None:
    [own] = [item for item in entry_points(group="jax_plugins") if item.name == "rockiln"]
    assert own.load().initialize is initialize
