"""Cases that are made of others, and where emulated arrays lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.case import Case
from harness.derived import ROW_STEP, derive_cases
from harness.derived_specials import KINDS, list_able, list_lacking, list_missing, list_unstrided
from harness.execute import PLACES, EmulatedMachine, describe_call, execute, pick_place, prepare
from harness.judge import compute_reference, list_emulated_cases, make_cases
from harness.tolerance import allow_error
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.call import Accepted, check_call
from rockiln_kernels.pack.build import Pack, build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants, read_table
from rockiln_kernels.wanted_table import read_wishes

CARRIES = 1 << 32


def _build_plain() -> Pack:
    """One variant of rms_norm."""
    variants = make_family_variants("rms_norm", ARCHS["gfx942"])
    chosen = next(item for item in variants if item.op == "rms_norm" and item.cell == "bf16")
    return build_pack(ARCHS["gfx942"], [chosen], find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


@pytest.mark.parametrize("place", PLACES)
def test_a_multiple_of_4_gib_lies_within_every_array(place: str) -> None:
    machine = EmulatedMachine(Pack(manifest=None, code={}), place=place)  # type: ignore[arg-type]
    for size in (100, 4096, 70_000):
        address = machine.allocate(bytes(size), "x")
        before = -address % CARRIES
        assert 0 < before < size
        assert before == {"early": 16, "late": (size // 16 - 1) * 16}.get(place, before)
        assert machine.read(address, size) == bytes(size)


def test_every_place_is_some_cases() -> None:
    cases = [case for op in ("rms_norm", "gemm") for case in make_cases(op, "bf16")]
    assert {pick_place(case) for case in cases} == set(PLACES)


def test_far_rows_are_what_the_op_is_told() -> None:
    spec = read_table()["rms_norm"]
    case = next(case for case in list_emulated_cases("rms_norm", "bf16") if case.row_step)
    accepted = check_call(spec, describe_call(spec, "bf16", case))
    assert isinstance(accepted, Accepted)
    assert accepted.names["x_stride"] == ROW_STEP
    assert len(case.arrays["x"]) * ROW_STEP > 1 << 32


def test_a_product_of_32_bits_does_not_reach_far_rows() -> None:
    from gfxemu.mutate import nop_out

    import gfxemu

    pack = _build_plain()
    spec, (variant, *_) = read_table()["rms_norm"], pack.manifest.variants
    case = next(case for case in list_emulated_cases("rms_norm", variant.cell) if case.row_step)
    prepared = prepare(spec, variant.cell, case, pack, variant)
    assert not hasattr(prepared, "reason")
    execute(prepared, case, pack)
    kernel = pack.manifest.kernels[variant.launches[0].kernel]
    code = gfxemu.load(pack.code[kernel.file])
    high = next(item for item in code.instructions if item.base.startswith("s_mul_hi"))
    broken = replace(pack, code={**pack.code, kernel.file: nop_out(code, high)})
    with pytest.raises(gfxemu.GfxemuError):
        execute(prepared, case, broken)


def test_peaks_are_the_largest_of_their_blocks() -> None:
    spec = read_table()["quant_fp8_block"]
    peaks = [case for case in derive_cases(spec, "bf16-e4m3", []) if case.name.startswith("peak")]
    places = set()
    for case in peaks:
        x = np.abs(case.arrays["x"].astype(np.float64))
        for row in range(0, x.shape[0], 128):
            for column in range(0, x.shape[1], 128):
                block = x[row : row + 128, column : column + 128]
                assert block.max() > 1.0 > np.sort(block.ravel())[-2]
                places.add(int(block.argmax()))
    assert len(places) == 8 * len(peaks)


def test_infinities_stand_before_the_end_of_k() -> None:
    case = _find("gemm", "bf16", "infinite")
    for name in ("a", "b"):
        rows, columns = np.nonzero(np.isinf(case.arrays[name].astype(np.float64)))
        assert len(rows) == len(set(rows)) > 10
        assert columns.max() < case.arrays[name].shape[1]
    assert not [item for item in list_emulated_cases("gemm_fp8", "e4m3") if item.name == "infinite"]


def _find(op: str, cell: str, name: str) -> Case:
    return next(case for case in list_emulated_cases(op, cell) if case.name == name)


def test_edges_of_pairs_keep_pairs() -> None:
    aligned, cut = (_find("gemm_swiglu", "bf16", name) for name in ("aligned-halves", "edge5"))
    b = aligned.arrays["b"]
    assert cut.arrays["a"].shape == (5, 32)
    assert (cut.arrays["b"] == np.concatenate([b[:5], b[96:101]])[:, :32]).all()
    assert (cut.arrays["bias"] == np.concatenate([aligned.arrays["bias"][:5], aligned.arrays["bias"][96:101]])).all()
    assert {f"edge{size}" for size in range(1, 65)} <= {
        case.name for case in list_emulated_cases("gemm_swiglu", "bf16")
    }


def test_nan_in_one_of_a_pair() -> None:
    for op in ("gemm_mxfp8_weights_swiglu", "gemm_fp8_swiglu"):
        cell = "bf16" if "mx" in op else "e4m3"
        for name, chosen in (("nans-first", 0), ("nans-second", 1)):
            b = _find(op, cell, name).arrays["b"].view(np.uint8)
            counts = ((b & 0x7F) == 0x7F).sum(axis=1).reshape(2, -1)
            assert (counts[chosen] == 1).all()
            assert not counts[1 - chosen].any()


@pytest.mark.parametrize(
    ("op", "cell"), [("fused_moe", "f16"), ("fused_moe_fp8", "bf16-e4m3"), ("fused_moe_mxfp4", "bf16")]
)
def test_experts_of_every_number_of_tokens(op: str, cell: str) -> None:
    ids = _find(op, cell, "counts").arrays["ids"]
    assert [int((ids == expert).sum()) for expert in range(64)] == list(range(1, 65))
    assert _find(op, cell, "crowd").arrays["ids"].max() > 512


def test_steep_gates_are_beyond_exp() -> None:
    case = _find("fused_moe", "f16", "steep")
    gate = case.arrays["x"].astype(np.float64) @ case.arrays["gate_up"][0, :48].astype(np.float64).T
    assert gate.min() < -104.0 < 89.0 < gate.max()


def test_queries_that_see_nothing_fill_tiles() -> None:
    case = _find("attention_prefill", "bf16", "nothing-d64")
    lse = compute_reference(read_table()["attention_prefill"], "bf16", case)["lse"]
    sinks = case.arrays["sinks"]
    assert (lse[:, :128] == sinks[:, None]).all()


def test_loud_scores_are_further_apart_than_exp_reaches() -> None:
    spec = read_table()["paged_decode"]
    quiet, loud = (_find("paged_decode", "bf16", name) for name in ("several-d64", "several-d64-loud"))
    low, high = (compute_reference(spec, "bf16", case)["lse"] for case in (quiet, loud))
    assert np.abs(low[np.isfinite(low)]).max() < 16.0
    assert high[np.isfinite(high)].min() < -104.0 < 89.0 < high.max()


def test_long_rows_with_an_offset_and_the_most_groups() -> None:
    assert _find("rms_norm", "bf16", "offset4080").scalars["weight_offset"] == 1.0
    assert _find("rms_norm_mxfp4", "bf16", "length224").arrays["x"].shape == (2, 224)
    assert _find("topk_sigmoid", "f32", "groups1024").scalars["groups"] == 32


@pytest.mark.parametrize(
    ("op", "cell", "name"),
    [
        ("gelu_and_mul_mxfp4", "bf16", "brink-interleaved"),
        ("silu_and_mul_fp8", "f16-e4m3", "brink-halves"),
        ("rms_norm_fp8", "f32-e4m3fnuz", "brink"),
        ("add_rms_norm_mxfp4", "f16", "brink"),
    ],
)
def test_results_beside_middles_turn_into_other_codes_by_a_256th(op: str, cell: str, name: str) -> None:
    spec, case = read_table()[op], _find(op, cell, name)
    moved = 1.0 + 2.0**-8 * np.where(np.arange(992) % 2, 1.0, -1.0)
    factor = "weight" if "weight" in case.arrays else "x"
    wide = {key: array.astype(np.float64) for key, array in case.arrays.items()}
    wide[factor] = wide[factor].copy()
    if factor == "weight":
        wide[factor] *= moved
    elif name.endswith("halves"):
        wide[factor][:, 992:] *= moved
    else:
        wide[factor][:, 1::2] *= moved
    was, now = (compute_reference(spec, cell, replace(case, arrays=arrays))["q"] for arrays in (case.arrays, wide))
    assert np.mean(was != now) > 0.05
    assert len(np.unique(was)) > 30


@pytest.mark.parametrize("cell", ["f16-e4m3", "bf16-e4m3fnuz"])
def test_every_query_sees_a_nan_of_its_own(cell: str) -> None:
    latent = _find("mla_decode_fp8", cell, "nans-keys-d576")
    assert np.isnan(compute_reference(read_table()["mla_decode_fp8"], cell, latent)["out"]).all()
    case = _find("paged_decode_fp8", cell, "nans-keys-d80")
    out = compute_reference(read_table()["paged_decode_fp8"], cell, case)["out"]
    assert np.isnan(out).all()
    keys = np.isnan(case.arrays["k_cache"].astype(np.float32))
    assert (keys.sum(axis=-1) == 1).all()
    assert len({(row % 16, column % 16) for _, row, _, column in np.argwhere(keys)}) > 60


def test_every_number_of_values_has_a_nan() -> None:
    case = _find("paged_decode_fp8", "f16-e4m3", "nans-values-d64")
    outputs = compute_reference(read_table()["paged_decode_fp8"], "f16-e4m3", case)
    assert np.isnan(outputs["out"]).all()
    assert np.isfinite(outputs["lse"]).all()
    assert not [item.name for item in list_emulated_cases("paged_decode", "bf16") if item.name.startswith("nans-v")]


def test_heads_fill_a_program() -> None:
    shapes = [case.arrays["x"].shape for case in list_emulated_cases("rope", "f16") if case.name.startswith("heads")]
    assert {(1, 20, 144), (1, 12, 288), (1, 6, 576)} == set(shapes)


@pytest.mark.parametrize("op", sorted(read_table()))
def test_an_op_has_every_special_value_and_stride_that_it_can(op: str) -> None:
    spec = read_table()[op]
    for cell in sorted({wish.cell for wish in read_wishes() if wish.op == op and not wish.gap}):
        cases = list_emulated_cases(op, cell)
        assert not list_missing(spec, cell, list_lacking(spec, cell, cases)), cell
        assert not list_unstrided(spec, cases), cell


def test_what_is_missing_is_found() -> None:
    spec = read_table()["fused_moe_mxfp4"]
    cases = make_cases("fused_moe_mxfp4", "bf16")
    lacking = list_lacking(spec, "bf16", cases)
    assert list_missing(spec, "bf16", lacking) == set(KINDS)
    assert lacking["x"] == set(KINDS)
    assert lacking["gate_up_scale"] == {"nans"}
    assert not lacking["gate_up"], "a byte of two fp4 codes is no number"
    assert list_unstrided(spec, cases) == ["x"]
    fnuz = list_able(read_table()["mla_decode_fp8"], "bf16-e4m3fnuz")
    assert fnuz["cache"] == {"nans"}
    assert fnuz["q"] == set(KINDS)


@pytest.mark.parametrize("op", ["attention_prefill", "mla_decode", "paged_decode", "fused_moe", "gemm_mxfp8"])
def test_special_values_are_seen_and_leave_something_finite(op: str) -> None:
    spec = read_table()[op]
    own = make_cases(op, "bf16")
    before = {case.name for case in [*own, *derive_cases(spec, "bf16", own)]}
    planted = [case for case in list_emulated_cases(op, "bf16") if case.name not in before]
    assert {kind for case in planted for kind in KINDS if kind in case.name} >= {"zeros", "infinite"}
    for case in planted:
        out = compute_reference(spec, "bf16", case)["out"]
        assert np.isfinite(out).any()
        assert np.isfinite(out).all() == case.name.endswith(("zeros", "strides"))


def test_the_sink_of_a_query_that_sees_no_key_is_held_exactly() -> None:
    case = _find("paged_decode", "bf16", "several-d64-sinks")
    lse = compute_reference(read_table()["paged_decode"], "bf16", case)["lse"]
    assert (lse[1, 0] == case.arrays["sinks"]).all()
    assert allow_error(lse, "f32", case.terms, case.magnitudes["lse"]).max() < 2.0**-13
