"""Atomics beside plain accesses of other waves: a race unless a barrier is between; atomics beside atomics are none."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
import gfxemu

ARCHES = tuple(assembly.LANES)
SPACES = {
    "lds": ("ds_add_u32 v20, v21", "{ds_load} v22, v20", "{ds_store} v20, v21"),
    "global": (
        "global_atomic_add{u32} v20, v21, s[12:13]",
        "global_load_{dword} v22, v20, s[12:13]",
        "global_store_{dword} v20, v21, s[12:13]",
    ),
    "flat": (
        "flat_atomic_add{u32} v[24:25], v21",
        "flat_load_{dword} v22, v[24:25]",
        "flat_store_{dword} v[24:25], v21",
    ),
    "scalar": ("", "s_load_{dword} s24, s[12:13], 0x0", "global_store_{dword} v20, v21, s[12:13]"),
}
"""Atomic, read and write of one dword by every lane; a scalar read is every wave's."""
ATOMIC = ("lds", "global", "flat")


def make_body(arch: str, space: str, first: str, second: str, *, between: str, bits: str = "") -> str:
    """The first wave (of two) does `first`, then the other `second`: atomic, read (with these cache bits) or write."""
    parts = dict(zip(("atomic", "read", "write"), SPACES[space], strict=True))
    parts["read"] += bits
    lines = ["v_mov_b32 v20, 0", "v_mov_b32 v21, 1", "v_mov_b32 v24, s12", "v_mov_b32 v25, s13"]
    lines += ["{ds_store} v20, v20", "{wait}", "{barrier}"]  # equal values of all waves
    lines += [f"v_cmp_gt_u32 vcc{{lo}}, {assembly.LANES[arch]}, v0", "s_and_saveexec_{b} {save}, vcc{lo}"]
    lines += [parts[first], "s_mov_{b} exec{lo}, {save}", *between.splitlines()]
    lines += ["s_{andnot}_{b} exec{lo}, exec{lo}, vcc{lo}", parts[second], "{wait}", "s_mov_{b} exec{lo}, {save}"]
    return "\n".join(lines).format(**assembly.words(arch)) + "\n"


def run(arch: str, body: str, **options: object) -> np.ndarray:
    """Two waves; what they meet on is zero before."""
    zero = np.zeros(2 * assembly.LANES[arch])
    return assembly.run(assembly.build(arch, body, 512), zero, zero, zero, **options)


MIXED = [("atomic", "read"), ("read", "atomic"), ("atomic", "write"), ("write", "atomic")]


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("space", ATOMIC)
@pytest.mark.parametrize(("first", "second"), MIXED)
def test_an_atomic_beside_a_plain_access_is_a_race(arch: str, space: str, first: str, second: str) -> None:
    body = make_body(arch, space, first, second, between="{wait}")
    with pytest.raises(gfxemu.Race, match="by wave 0 of the same workgroup") as caught:
        run(arch, body)
    assert caught.value.where is not None
    assert caught.value.where.wave == 1
    run(arch, body, races=False)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("space", ATOMIC)
def test_a_barrier_orders_atomics_that_were_waited_for(arch: str, space: str) -> None:
    for first, second in MIXED:
        run(arch, make_body(arch, space, first, second, between="{wait}\n{barrier}"))
    with pytest.raises(gfxemu.Race, match="unfinished access"):
        run(arch, make_body(arch, space, "atomic", "read", between="{barrier}"))


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("space", ATOMIC)
def test_atomics_of_several_waves_are_no_race_until_one_of_them_reads(arch: str, space: str) -> None:
    body = make_body(arch, space, "atomic", "atomic", between="{wait}")
    read = f"{SPACES[space][1]}\n{{wait}}\nv_mov_b32 v8, v22\n".format(**assembly.words(arch))
    got = run(arch, f"{body}{assembly.words(arch)['barrier']}\n{read}")
    assert got.tolist() == [2 * assembly.LANES[arch]] * (2 * assembly.LANES[arch])
    with pytest.raises(gfxemu.Race, match=r"atomic on .*, read by wave 0 of the same workgroup"):
        run(arch, body + read)


COHERENT = {"gfx90a": " glc", "gfx942": " sc1", "gfx950": " sc1", "gfx1100": " glc", "gfx1201": " scope:SCOPE_DEV"}


@pytest.mark.parametrize("arch", ARCHES)
def test_an_atomic_load_races_with_plain_stores_alone(arch: str) -> None:
    for first, second in (("read", "atomic"), ("atomic", "read")):
        run(arch, make_body(arch, "global", first, second, between="{wait}", bits=COHERENT[arch]))
    for first, second in (("read", "write"), ("write", "read")):
        with pytest.raises(gfxemu.Race, match="by wave 0 of the same workgroup"):
            run(arch, make_body(arch, "global", first, second, between="{wait}", bits=COHERENT[arch]))


@pytest.mark.parametrize("arch", ARCHES)
def test_a_plain_read_beside_an_atomic_load_races_with_an_atomic(arch: str) -> None:
    load = SPACES["global"][1]
    for reads in (f"{load}\n{load}{COHERENT[arch]}", f"{load}{COHERENT[arch]}\n{load}"):
        body = make_body(arch, "global", "read", "atomic", between="{wait}").replace(
            load.format(**assembly.words(arch)), reads.format(**assembly.words(arch))
        )
        with pytest.raises(gfxemu.Race, match=r"atomic on 0x[0-9a-f]+, read by wave 0"):
            run(arch, body)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(("first", "second"), [("read", "write"), ("write", "read")])
def test_a_scalar_load_beside_a_store_of_another_wave_is_a_race(arch: str, first: str, second: str) -> None:
    with pytest.raises(gfxemu.Race, match="of the same workgroup"):
        run(arch, make_body(arch, "scalar", first, second, between="{wait}"))
    run(arch, make_body(arch, "scalar", first, second, between="{wait}\n{barrier}"))
