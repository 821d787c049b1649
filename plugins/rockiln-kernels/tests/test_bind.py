"""A call against a manifest: the variant that is taken, what is passed over and why, and the bytes of the arguments."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from rockiln_kernels.bind import Bound, bind_call, bind_variant, pack_kernarg
from rockiln_kernels.call import Accepted, Rejected
from rockiln_kernels.pack.manifest import (
    ArgumentEntry,
    KernelEntry,
    LaunchEntry,
    Manifest,
    RequirementEntry,
    VariantEntry,
)

X = ArgumentEntry(name="x", kind="pointer", dtype="bf16", value="x", offset=0, size_bytes=8, divisible_by=16)
LENGTH = ArgumentEntry(name="N", kind="i32", dtype="i32", value="N * 2", offset=8, size_bytes=4, divisible_by=16)
EPS = ArgumentEntry(name="eps", kind="f32", dtype="f32", value="eps", offset=12, size_bytes=4, divisible_by=1)
RESERVED = ArgumentEntry(name="reserved", kind="null", dtype="u8", value="0", offset=16, size_bytes=8, divisible_by=1)
KERNEL = KernelEntry(
    source="op",
    symbol="op",
    file="op.hsaco",
    sha256="0" * 64,
    size_bytes=1,
    threads=256,
    shared_bytes=0,
    kernarg_bytes=24,
    args=(X, LENGTH, EPS, RESERVED),
    constants={"BLOCK": 64},
    warps=4,
    stages=1,
    vgprs=8,
    agprs=0,
    sgprs=8,
    vgpr_spills=0,
    sgpr_spills=0,
    scratch_bytes=0,
    occupancy=8,
    matrix_instructions={},
)
VARIANT = VariantEntry(
    op="op",
    cell="bf16",
    name="wide",
    launches=(LaunchEntry(kernel="wide", grid=("M", "cdiv(N, BLOCK)", "1")),),
    workspaces=(),
    requires=(RequirementEntry(formula="N <= 4096", reason="rows are longer than 4096"),),
    decoded=False,
    rank="0",
)
ANY = replace(
    KERNEL, args=(replace(X, divisible_by=2), replace(LENGTH, divisible_by=1), EPS, RESERVED)
)
MANIFEST = Manifest(
    schema=1,
    arch="gfx942",
    wave_lanes=64,
    triton="3.4.0",
    lld="22.1.8",
    kernels={"wide": KERNEL, "any": ANY},
    variants=(VARIANT, replace(VARIANT, name="any", launches=(LaunchEntry(kernel="any", grid=("M", "1", "1")),))),
    absent=(),
)


def _accept(**names: float) -> Accepted:
    return Accepted(cell="bf16", names={"M": 3, "N": 128, "eps": 0.5, **names})


def test_the_first_fitting_variant_is_taken_with_numbers_for_formulas() -> None:
    bound = bind_call(MANIFEST, "op", _accept(), {"x": 16})
    assert isinstance(bound, Bound)
    assert bound.variant.name == "wide"
    assert bound.launches[0].grid == (3, 2, 1)
    assert pack_kernarg(bound.launches[0], {"x": 4096}) == struct.pack("<QifQ", 4096, 256, 0.5, 0)


def test_a_misaligned_address_takes_another_variant_and_says_why() -> None:
    bound = bind_call(MANIFEST, "op", _accept(), {"x": 2})
    assert isinstance(bound, Bound)
    assert bound.variant.name == "any"
    assert [item.reason for item in bound.passed_over] == ["the address of x is no multiple of 16"]


def test_a_ragged_length_takes_another_variant() -> None:
    bound = bind_call(MANIFEST, "op", _accept(N=9), {})
    assert isinstance(bound, Bound)
    assert bound.variant.name == "any"
    assert bound.passed_over[0].reason == "N * 2 is no multiple of 16"


def test_the_smallest_rank_wins() -> None:
    ranked = replace(MANIFEST, variants=(replace(VARIANT, rank="M"), replace(MANIFEST.variants[1], rank="2")))
    bound = bind_call(ranked, "op", _accept(), {})
    assert isinstance(bound, Bound)
    assert bound.variant.name == "any"


def test_what_no_variant_takes_is_rejected_with_every_reason() -> None:
    rejected = bind_call(MANIFEST, "op", _accept(N=8192), {})
    assert isinstance(rejected, Rejected)
    assert rejected.reason.count("rows are longer than 4096") == 2


def test_an_unknown_cell_is_rejected() -> None:
    rejected = bind_call(MANIFEST, "op", replace(_accept(), cell="f16"), {})
    assert rejected == Rejected(reason="the pack for gfx942 has no op for f16")


def test_a_number_beyond_32_bits_is_rejected() -> None:
    free = replace(MANIFEST, variants=(replace(VARIANT, requires=()),))
    rejected = bind_variant(free, free.variants[0], _accept(N=2**31).names, {})
    assert rejected == Rejected(reason=f"N * 2 = {2**32} does not fit into 32 bits")


@pytest.mark.parametrize(("stride", "is_far"), [(2**24 - 1, False), (2**24, True)])
def test_rows_too_far_apart_for_a_tile_are_rejected(stride: int, *, is_far: bool) -> None:
    """128 rows of 2^24 elements are 2^31, which an i32 offset does not hold."""
    argument = replace(LENGTH, name="a_stride", value="a_stride", divisible_by=1)
    tile = replace(KERNEL, args=(argument,), constants={"BLOCK": 64, "BLOCK_M": 64, "BLOCK_N": 128})
    bound = bind_variant(replace(MANIFEST, kernels={"wide": tile}), VARIANT, _accept(a_stride=stride).names, {})
    assert isinstance(bound, Rejected) == is_far
    if is_far:
        assert bound == Rejected(reason="a_stride = 16777216: 128 rows of a tile are 2^31 elements apart, or more")


@pytest.mark.parametrize(
    ("rows", "length", "reason"),
    [
        (2**24 - 1, 32, ""),
        (2**24, 32, f"{2**24} workgroups of 256 threads are more than 2^32 threads"),
        (2**33, 32, f"{2**33} workgroups along x, a device takes {2**31 - 1}"),
        (2**70, 32, f"{2**70} workgroups along x, a device takes {2**31 - 1}"),
        (1, 64 * 65535, ""),
        (1, 64 * 65536, "65536 workgroups along y, a device takes 65535"),
    ],
)
def test_a_grid_that_no_device_takes_is_rejected(rows: int, length: int, reason: str) -> None:
    """librockiln's numbers have 32 bits: more would come out as another grid, or as none."""
    bound = bind_variant(MANIFEST, replace(VARIANT, requires=()), _accept(M=rows, N=length).names, {})
    assert (bound.reason if isinstance(bound, Rejected) else "") == reason


def test_no_rows_launch_nothing() -> None:
    bound = bind_call(MANIFEST, "op", _accept(M=0), {})
    assert isinstance(bound, Bound)
    assert bound.launches[0].is_empty
