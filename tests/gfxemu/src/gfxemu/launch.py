"""A kernel, a grid, kernarg bytes and memory → Counts of what the program did there, or the Fault that ended it."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields

from gfxemu.codeobject import CODE_BASE, Kernel
from gfxemu.core import load_core
from gfxemu.faults import KINDS, BadCodeObject, BadLaunch, Fault, Where
from gfxemu.memory import Buffer, Memory
from gfxemu.registers import check_registers

UNITS = ("salu", "smem", "valu", "transcendental", "matrix", "lds", "vmem", "branch", "barrier", "other")
ALIGNMENTS = {"byte": 0, "dword": 1, "natural": 2}
DYNAMIC_STACK = 16 * 1024  # bytes a lane that recursion gets beyond what the compiler could count
ORDERS = {"forward": 0, "reverse": 1}
KERNARG_ALIGNMENT = 64  # bytes; of HSA's queues, and the widest scalar load
U32, U64 = ctypes.c_uint32, ctypes.c_uint64


class LaunchRecord(ctypes.Structure):
    """struct Launch of core/state.h."""

    _fields_ = (
        *((name, U32) for name in ("generation", "lanes", "has_fnuz", "id", "vgprs", "agpr_first", "sgprs", "checks")),
        ("grid", U32 * 3),
        ("block", U32 * 3),
        ("kernarg", U64),
        ("dispatch", U64),
        *(
            (name, U32)
            for name in ("lds_bytes", "scratch_bytes", "mode", "user_sgprs", "system_flags", "entry", "order", "seed")
        ),
        ("step_limit", U64),
        ("preload_dwords", U32),
        ("properties", U32),
    )


class RegionRecord(ctypes.Structure):
    """struct RegionRecord of core/abi.cpp."""

    _fields_ = (("base", U64), ("size", U64), ("host", U64), ("writable", U32), ("pad", U32))


class CountsRecord(ctypes.Structure):
    """struct Counts of core/state.h."""

    _fields_ = (
        ("instructions", U64 * len(UNITS)),
        ("cycles", U64 * len(UNITS)),
        *(
            (name, U64)
            for name in (
                "global_read_bytes",
                "global_written_bytes",
                "global_lines",
                "hbm_read_lines",
                "hbm_written_lines",
                "lds_read_bytes",
                "lds_written_bytes",
                "lds_accesses",
                "lds_conflict_cycles",
                "scratch_bytes",
                "scalar_bytes",
                "atomics",
                "barriers",
                "workgroups",
                "waves",
                "matrix_flops",
            )
        ),
    )


class FaultRecord(ctypes.Structure):
    """struct FaultRecord of core/abi.cpp."""

    _fields_ = (
        ("kind", U32),
        ("pc", U32),
        ("group", U32 * 3),
        ("wave", U32),
        ("lanes", U64),
        ("address", U64),
        ("text", ctypes.c_char * 400),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What one launch did: wave instructions and modelled issue cycles by unit, bytes by level. Lines are 128 bytes."""

    instructions: dict[str, int]
    cycles: dict[str, int]
    global_read_bytes: int
    global_written_bytes: int
    global_lines: int
    hbm_read_lines: int
    hbm_written_lines: int
    lds_read_bytes: int
    lds_written_bytes: int
    lds_accesses: int
    lds_conflict_cycles: int
    scratch_bytes: int
    scalar_bytes: int
    atomics: int
    barriers: int
    workgroups: int
    waves: int
    matrix_flops: int

    @property
    def total(self) -> int:
        """Wave instructions of all units."""
        return sum(self.instructions.values())


def make_counts(record: CountsRecord) -> Counts:
    """The core's counters as a value."""
    plain = {
        item.name: int(getattr(record, item.name))
        for item in fields(Counts)
        if item.name not in ("instructions", "cycles")
    }
    return Counts(
        instructions=dict(zip(UNITS, record.instructions, strict=True)),
        cycles=dict(zip(UNITS, record.cycles, strict=True)),
        **plain,
    )


def hidden_values(grid: Sequence[int], block: Sequence[int], shared_bytes: int) -> dict[str, int]:
    """Hidden arguments of code objects v5 and v6 by value kind; those not named are zero."""
    out = {
        "hidden_grid_dims": 3 if grid[2] * block[2] > 1 else 2 if grid[1] * block[1] > 1 else 1,
        "hidden_private_base": 0x00020000,
        "hidden_shared_base": 0x00010000,
        "hidden_dynamic_lds_size": shared_bytes,
    }
    for axis, blocks, threads in zip("xyz", grid, block, strict=True):
        out[f"hidden_block_count_{axis}"] = blocks
        out[f"hidden_group_size_{axis}"] = threads
    return out


def make_kernarg(kernel: Kernel, kernarg: bytes, grid: Sequence[int], block: Sequence[int], shared_bytes: int) -> bytes:
    """The whole kernarg segment: the caller's explicit arguments, then hidden ones filled in."""
    hidden = [item for item in kernel.arguments if item.kind.startswith("hidden_")]
    explicit = min((item.offset for item in hidden), default=kernel.kernarg_size)
    least = max(
        (item.offset + item.size for item in kernel.arguments if not item.kind.startswith("hidden_")), default=0
    )
    if not least <= len(kernarg) <= max(kernel.kernarg_size, explicit):
        taken = f"the kernel takes {least}, with hidden arguments {kernel.kernarg_size}"
        raise BadLaunch(f"{kernel.name}: kernarg has {len(kernarg)} bytes; {taken}")
    out = bytearray(kernarg[:explicit].ljust(explicit, b"\0").ljust(kernel.kernarg_size, b"\0"))
    values = hidden_values(grid, block, shared_bytes)
    for item in hidden:
        value = values.get(item.kind, 0) % (1 << 8 * item.size)
        out[item.offset : item.offset + item.size] = value.to_bytes(item.size, "little")
    return bytes(out)


def pad_kernarg(segment: bytes) -> bytes:
    """The memory that a runtime gives a segment: LLVM reads three pointers by s_load_b256, four pointers' worth.

    A load that is wider than what it needs is aligned to its width, at most 64 bytes, so it ends before the padding
    does. No program may use what it finds there, hence no zeros.
    """
    return segment.ljust(-(-len(segment) // KERNARG_ALIGNMENT) * KERNARG_ALIGNMENT, b"\xcb")


def make_dispatch(kernel: Kernel, grid: Sequence[int], block: Sequence[int], kernarg: int, lds_bytes: int) -> bytes:
    """The AQL dispatch packet (HSA Platform System Architecture 1.2, §2.9.6)."""
    threads = [count * size for count, size in zip(grid, block, strict=True)]
    return struct.pack(
        "<HHHHHHIIIIIQQQQ", 2 | 1 << 8, 3, *block, 0, *threads, kernel.private_segment_size, lds_bytes, 0, kernarg, 0, 0
    )


def check_shape(kernel: Kernel, grid: Sequence[int], block: Sequence[int], lds_bytes: int) -> None:
    """Sizes that a runtime refuses."""
    threads = block[0] * block[1] * block[2]
    if len(grid) != 3 or len(block) != 3 or min(*grid, *block) < 1:
        raise BadLaunch(f"{kernel.name}: grid {tuple(grid)} and block {tuple(block)} need three positive numbers each")
    if threads > kernel.max_threads:
        raise BadLaunch(f"{kernel.name}: {threads} threads; compiled for at most {kernel.max_threads}")
    limit = 160 * 1024 if kernel.code.arch == "gfx950" else 64 * 1024
    if lds_bytes > limit:
        raise BadLaunch(f"{kernel.name}: {lds_bytes} bytes of LDS; {kernel.code.arch} has {limit}")


def vgprs_of(kernel: Kernel) -> int:
    """Allocated registers, rounded up to the granule: rsrc1[5:0] (LLVM: GRANULATED_WORKITEM_VGPR_COUNT)."""
    return int(min(512, ((kernel.rsrc1 & 63) + 1) * kernel.code.target.vgpr_granule))


def make_launch(
    kernel: Kernel, grid: Sequence[int], block: Sequence[int], kernarg: int, dispatch: int, lds_bytes: int
) -> LaunchRecord:
    """The core's launch record from kernel descriptor and shape."""
    target, code = kernel.code.target, kernel.code
    scratch_sgpr = kernel.rsrc2 & 1 and target.name == "gfx90a"
    entry = code.program.index[kernel.start // 4]
    if entry < 0:
        raise BadCodeObject(f"{kernel.name}: its entry {kernel.start:#x} is inside of an instruction")
    return LaunchRecord(
        generation=target.generation,
        lanes=kernel.wavefront_size,
        has_fnuz=target.fnuz,
        id=target.number,
        vgprs=min(256, vgprs_of(kernel)),
        grid=tuple(grid),
        block=tuple(block),
        kernarg=kernarg,
        dispatch=dispatch,
        lds_bytes=lds_bytes,
        scratch_bytes=kernel.private_segment_size + (DYNAMIC_STACK if kernel.dynamic_stack else 0),
        mode=(kernel.rsrc1 >> 12 & 0xFF) | (kernel.rsrc1 >> 26 & 1) << 23,
        user_sgprs=kernel.rsrc2 >> 1 & 31,
        system_flags=(kernel.rsrc2 >> 7 & 15) | bool(scratch_sgpr) << 4,
        entry=entry,
        preload_dwords=kernel.preload & 0x7F,
        properties=kernel.properties & 0x7F,
    )


def load_segments(kernel: Kernel) -> list[Buffer]:
    """The code object's own memory: constants read-only, variables kept between launches."""
    if not hasattr(kernel.code, "mapped"):
        mapped = []
        for segment in kernel.code.segments:
            store = ctypes.create_string_buffer(segment.content, max(1, len(segment.content)))
            mapped.append(
                Buffer(
                    name="code object",
                    address=CODE_BASE + segment.address,
                    size=len(segment.content),
                    host=ctypes.addressof(store),
                    writable=segment.writable,
                    keep=store,
                )
            )
        kernel.code.mapped = mapped  # type: ignore[attr-defined]
    return list(kernel.code.mapped)  # type: ignore[attr-defined]


_CORE = threading.Lock()
"""One launch at a time: the core keeps waves and matrices from launch to launch, and ctypes lets other threads run."""


def launch(  # noqa: PLR0913  # the signature that colleagues agreed on
    kernel: Kernel,
    *,
    grid: Sequence[int],
    block: Sequence[int],
    kernarg: bytes,
    memory: Memory,
    shared_bytes: int = 0,
    order: str | int = "forward",
    checks: bool = True,
    races: bool = True,
    alignment: str = "dword",
    step_limit: int = 50_000_000,
) -> Counts:
    """Run a kernel over a grid of workgroups of `block` threads.

    shared_bytes: dynamic LDS beyond the kernel's own. order: workgroups forward, reverse, or shuffled by a seed, which
    also shuffles waves. alignment: "dword" (vector accesses of 4 bytes and more must be 4-byte aligned), "natural"
    (aligned to their size) or "byte". checks=False switches off undefined bits, waits and races, never bounds;
    races=False races alone, for kernels whose waves meet by atomics: only barriers count as meeting.
    Raises Fault (see faults.py), BadLaunch, or BadCodeObject where the kernel begins inside of an instruction.
    """
    lds_bytes = kernel.group_segment_size + shared_bytes
    check_shape(kernel, grid, block, lds_bytes)
    check_registers(kernel)
    segment = make_kernarg(kernel, kernarg, grid, block, shared_bytes)
    private = Memory()
    private.next = CODE_BASE + (1 << 40)
    arguments = private.allocate(pad_kernarg(segment), "kernarg", KERNARG_ALIGNMENT, writable=False)
    dispatch = private.allocate(
        make_dispatch(kernel, grid, block, arguments, lds_bytes), "dispatch packet", 64, writable=False
    )
    record = make_launch(kernel, grid, block, arguments, dispatch, lds_bytes)
    record.checks = int(checks) | (not races) << 1 | ALIGNMENTS[alignment] << 4
    record.order, record.seed = (ORDERS[order], 0) if isinstance(order, str) else (2, order)
    record.step_limit = step_limit
    buffers = sorted([*load_segments(kernel), *private.buffers, *memory.buffers], key=lambda item: item.address)
    return run_core(kernel, record, buffers, memory)


def run_core(kernel: Kernel, record: LaunchRecord, buffers: list[Buffer], memory: Memory) -> Counts:
    """Call the core; its fault becomes an exception."""
    program, core = kernel.code.program, load_core()
    regions = (RegionRecord * len(buffers))(
        *(RegionRecord(b.address, b.size, b.host, int(b.writable), 0) for b in buffers)
    )
    index = (ctypes.c_int32 * len(program.index))(*program.index)
    counts, fault = CountsRecord(), FaultRecord()
    with _CORE:
        failed = core.library.gfxemu_run(
            ctypes.byref(record),
            program.ops,
            program.count,
            index,
            len(program.index),
            regions,
            len(buffers),
            ctypes.byref(counts),
            ctypes.byref(fault),
        )
    if failed:
        raise make_fault(kernel, fault, memory)
    return make_counts(counts)


def make_fault(kernel: Kernel, record: FaultRecord, memory: Memory) -> Fault:
    """The exception of a fault record."""
    instruction = kernel.code.instruction_at(record.pc)
    text = instruction.text() if instruction else "?"
    message = record.text.decode("utf-8", "replace")
    if (
        record.kind == KINDS.index(Fault.__subclasses__()[0])
        and record.address
        and (near := memory.name_at(record.address))
    ):
        message += f" ({near})"
    if instruction is not None and "no semantics" in message:
        name = text if instruction.mnemonic == "unknown" else instruction.mnemonic
        message = f"{name}: {message} on {kernel.code.arch}"
    where = Where(
        kernel=kernel.name,
        pc=record.pc,
        instruction=text,
        workgroup=tuple(record.group),
        wave=record.wave,
        lanes=record.lanes,
        address=record.address,
    )
    kind: type[Fault] = KINDS[record.kind]
    return kind(message, where)
