"""Cases that are made of others, and where emulated arrays lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.case import Case
from harness.derived import ROW_STEP, derive_cases
from harness.execute import PLACES, EmulatedMachine, describe_call, execute, pick_place, prepare
from harness.judge import list_emulated_cases, make_cases
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.pack.build import Pack, build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.spec import Accepted, check_call
from rockiln_kernels.table import make_family_variants, read_table

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
