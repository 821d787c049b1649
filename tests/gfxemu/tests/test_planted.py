"""Bugs planted into real compiled code are found, each by its own kind of fault."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import assembly
import gfxemu
import kernels
from gfxemu import mutate
from gfxemu.instruction import Instruction
from gfxemu.memory import Memory
from test_kernels import ARCHES, launch, run_matmul

WAITS_FOUND = {"gfx90a": 18, "gfx942": 18, "gfx950": 10, "gfx1100": 26, "gfx1201": 12}
"""One or two less than are found with Triton 3.4.0: 19 of 21, 19 of 21, 11 of 13, 28 of 46, 13 of 32."""
MUTANTS_NOTICED = {"gfx90a": 18, "gfx942": 15, "gfx950": 13, "gfx1100": 15, "gfx1201": 17}
"""One less, of 30."""


def without(built: kernels.Built, picked: Callable[[Instruction], bool]) -> list[gfxemu.CodeObject]:
    """One code object for each instruction that matches, with it removed."""
    code = gfxemu.load(built.hsaco)
    found = [item for item in code.instructions if picked(item)]
    assert found
    return [gfxemu.load(mutate.nop_out(code, item)) for item in found]


def faults_of(arch: str, codes: list[gfxemu.CodeObject]) -> list[type]:
    """What each does: a fault's class, or int for none."""
    out: list[type] = []
    for code in codes:
        fault = fault_of(arch, code)
        texts = {item.text() for item in code.instructions}
        assert fault is None or (fault.where and fault.where.kernel == "matmul" and fault.where.instruction in texts)
        out.append(type(fault) if fault else int)
    return out


def fault_of(arch: str, code: gfxemu.CodeObject) -> gfxemu.Fault | None:
    """The fault of a run, if there is one."""
    try:
        run_matmul(arch, code)
    except gfxemu.Fault as fault:
        return fault
    return None


def is_wait(item: Instruction) -> bool:
    return item.base.startswith("s_wait") and not item.base.startswith(
        ("s_wait_alu", "s_waitcnt_depctr", "s_waitcnt_vscnt", "s_wait_storecnt")
    )


def is_reached(arch: str, code: gfxemu.CodeObject, item: Instruction) -> bool:
    """Whether the run comes to an instruction: no opcode in its place faults."""
    raw = mutate.patch(code, item.address, b"\xff" * 4)
    return isinstance(fault_of(arch, gfxemu.load(raw)), gfxemu.UnknownOpcode)


def is_spare(code: gfxemu.CodeObject, item: Instruction) -> bool:
    """A wait that guards nothing: LDS fills halves of a register in order, and before a barrier all may be done."""
    at = code.instructions.index(item) + 1
    near = [follower.base for follower in code.instructions[at : at + 3]]
    fills_half = near[0].startswith("ds_") and near[0].endswith("_d16_hi")
    return fills_half or any(name.startswith("s_barrier") for name in near)


@pytest.mark.parametrize("arch", ARCHES)
def test_every_missing_wait_that_guards_something_is_found(arch: str) -> None:
    built = kernels.build("matmul", arch)
    code = gfxemu.load(built.hsaco)
    kinds = faults_of(arch, without(built, is_wait))
    waits = [item for item in code.instructions if is_wait(item)]
    assert kinds.count(gfxemu.MissingWait) + kinds.count(gfxemu.Race) >= WAITS_FOUND[arch]
    assert set(kinds) <= {gfxemu.MissingWait, gfxemu.Race, int}
    quiet = [item for item, kind in zip(waits, kinds, strict=True) if kind is int and not is_spare(code, item)]
    assert not [item.text() for item in quiet if is_reached(arch, code, item)]


@pytest.mark.parametrize("arch", ARCHES)
def test_a_missing_barrier_is_found(arch: str) -> None:
    code = gfxemu.load(kernels.build("matmul", arch).hsaco)
    signals = [k for k, item in enumerate(code.instructions) if item.base in ("s_barrier", "s_barrier_signal")]
    kinds = []
    for k in signals:
        raw = mutate.nop_out(code, code.instructions[k])
        follower = next((item for item in code.instructions[k + 1 : k + 4] if item.base == "s_barrier_wait"), None)
        if follower is not None:
            raw = mutate.nop_out(gfxemu.load(raw), follower)
        kinds += faults_of(arch, [gfxemu.load(raw)])
    assert gfxemu.Race in kinds, kinds


@pytest.mark.parametrize("arch", ARCHES)
def test_an_out_of_bounds_store_is_found(arch: str) -> None:
    built, x = kernels.build("copy_wide", arch), np.zeros(1024, np.float32)
    memory = Memory()
    places = memory.allocate(x, "x"), memory.allocate(x[:-1], "y")
    with pytest.raises(gfxemu.OutOfBounds, match=r"store of .*\(y\+") as caught:
        launch(built, (1, 1), memory, *places)
    assert caught.value.where is not None
    assert caught.value.where.lanes


@pytest.mark.parametrize("arch", ARCHES)
def test_an_unaligned_vector_load_is_found(arch: str) -> None:
    built = kernels.build("copy_wide", arch)
    code = gfxemu.load(built.hsaco)
    load = next(item for item in code.instructions if item.base in ("global_load_dwordx4", "global_load_b128"))
    raw = mutate.patch(code, load.address, mutate.set_field(code, load, "offset", 2))
    memory = Memory()
    places = memory.allocate(np.zeros(1100, np.float32), "x"), memory.allocate(np.zeros(1024, np.float32), "y")
    with pytest.raises(gfxemu.Misaligned):
        launch(built, (1, 1), memory, *places, code=gfxemu.load(raw))


@pytest.mark.parametrize("arch", ARCHES)
def test_natural_alignment_finds_a_broken_promise(arch: str) -> None:
    built = kernels.build("copy_wide", arch)
    memory = Memory()
    x, y = memory.allocate(np.zeros(1100, np.float32), "x"), memory.allocate(np.zeros(1024, np.float32), "y")
    launch(built, (1, 1), memory, x + 4, y)
    with pytest.raises(gfxemu.Misaligned):
        launch(built, (1, 1), memory, x + 4, y, alignment="natural")


@pytest.mark.parametrize("arch", ARCHES)
def test_too_little_lds_is_found(arch: str) -> None:
    built = kernels.build("matmul", arch)
    with pytest.raises(gfxemu.OutOfBounds, match="LDS"):
        run_matmul(arch, shared_bytes=built.shared_bytes - 256)


@pytest.mark.parametrize("arch", ARCHES)
def test_a_removed_load_is_found(arch: str) -> None:
    built = kernels.build("copy_wide", arch)
    memory = Memory()
    places = memory.allocate(np.zeros(1024, np.float32), "x"), memory.allocate(np.zeros(1024, np.float32), "y")
    for code in without(built, lambda item: item.base.startswith("global_load")):
        with pytest.raises(
            (gfxemu.UninitializedRead, gfxemu.MissingWait)
        ):  # waits count loads: one less, and they wait for less
            launch(built, (1, 1), memory, *places, code=code)


@pytest.mark.parametrize("arch", ARCHES)
def test_a_register_beyond_the_descriptor_is_found(arch: str) -> None:
    code = gfxemu.load(kernels.build("copy_wide", arch).hsaco)
    add = next(item for item in code.instructions if item.base in ("v_lshl_or_b32", "v_and_b32", "v_lshl_add_u32"))
    code = gfxemu.load(mutate.patch(code, add.address, mutate.set_field(code, add, "vdst", 250)))
    memory = Memory()
    places = memory.allocate(np.zeros(1024, np.float32)), memory.allocate(np.zeros(1024, np.float32))
    with pytest.raises(gfxemu.RegisterBounds, match="v250"):
        launch(kernels.build("copy_wide", arch), (1, 1), memory, *places, code=code)


@pytest.mark.parametrize("arch", ARCHES)
def test_half_of_all_single_instruction_mutants_of_a_matmul_are_noticed(arch: str) -> None:
    code = gfxemu.load(kernels.build("matmul", arch).hsaco)
    mutations = list(mutate.list_mutations(code, seed=1))
    rng = np.random.default_rng(4)
    noticed, picked = 0, rng.choice(len(mutations), 30, replace=False)
    for k in picked:
        try:
            got, want, _ = run_matmul(arch, mutate.apply(code, mutations[k]), step_limit=200_000)
            noticed += not np.allclose(got, want, rtol=1e-5, atol=1e-4)
        except gfxemu.GfxemuError:
            noticed += 1
    assert noticed >= MUTANTS_NOTICED[arch]  # raw, equivalent ones included


EXCHANGE = """
v_and_b32 v20, {last}, v0
v_lshlrev_b32 v20, 2, v20
v_cmp_gt_u32 vcc{lo}, {lanes}, v0
s_and_saveexec_{b} {save}, vcc{lo}
{ds_load} v21, v20
s_mov_{b} exec{lo}, {save}
{wait}
{barrier}
s_{andnot}_{b} exec{lo}, exec{lo}, vcc{lo}
{ds_store} v20, v2
s_mov_{b} exec{lo}, {save}
"""
"""The first wave reads what the second writes behind a barrier."""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_a_barrier_before_a_read_is_done_is_found(arch: str) -> None:
    lanes = assembly.LANES[arch]
    words = assembly.words(arch) | {"last": str(lanes - 1), "lanes": str(lanes)}
    inputs = [np.arange(2 * lanes)] * 3
    late, early = (EXCHANGE.format(**words | {"wait": wait}) for wait in ("s_nop 0", assembly.wait_all(arch)))
    assembly.run(assembly.build(arch, early + assembly.wait_all(arch), 512), *inputs)
    with pytest.raises(gfxemu.Race, match="unfinished access"):
        assembly.run(assembly.build(arch, late + assembly.wait_all(arch), 512), *inputs)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("offset", [0x20, 0x40])
def test_a_wide_load_of_arguments_may_pass_the_segment_and_not_its_alignment(arch: str, offset: int) -> None:
    load = "s_load_b256" if assembly.is_new(arch) else "s_load_dwordx8"
    body = f"{load} s[24:31], s[0:1], {offset:#x}\n{assembly.wait_all(arch)}\n"
    code, x = assembly.build(arch, body), np.arange(32, dtype=np.uint64)
    if offset == 0x20:  # the segment has 40 bytes; a runtime gives 64
        assert not assembly.run(code, x, x, x).any()
        return
    with pytest.raises(gfxemu.OutOfBounds, match="load of 32 bytes"):
        assembly.run(code, x, x, x)
