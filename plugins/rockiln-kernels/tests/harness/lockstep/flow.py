"""Decoded code → blocks of micro-ops, and where each goes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from gfxemu.micro import DPP, DPP8, SDWA

ENDS = ("s_branch", "s_cbranch_", "s_endpgm")
LANE_CONTROLS = DPP | DPP8 | SDWA


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One micro-op; `place` is the number of its instruction, `fields` and `generation` are that one's."""

    place: int
    micro: Any
    mnemonic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Code without a branch but at its end; numbers of the blocks that may follow, the branch's target last."""

    first: int
    steps: tuple[Step, ...]
    follow: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What an analysis walks over. `ops`: name → (number, unit, type letters), as the emulator's core says."""

    blocks: tuple[Block, ...]
    entry: int
    order: Mapping[int, int]
    """Blocks that are reached → their place in an order that turns back only at the ends of loops."""
    sources: Mapping[int, tuple[int, ...]]
    """Blocks that a block may follow."""
    loops: Mapping[tuple[int, int], frozenset[int]]
    """(end, start) of a loop → its blocks."""
    lanes: int
    threads: int
    block_of: tuple[int, ...]
    ops: Any
    kernarg: int = 0
    """The scalar register that holds the address of arguments when the kernel starts, and the next one."""
    preloaded: Mapping[int, int] = field(default_factory=dict)
    """Scalar register → offset of the argument that it holds then."""
    positive: AbstractSet[int] = frozenset()
    """Offsets of arguments of 32 bits that are 1 at least."""
    zeros: AbstractSet[int] = frozenset()
    """Offsets of arguments of 32 bits that are always 0."""


def read_program(
    code: Any, kernel: Any, positive: AbstractSet[int] = frozenset(), zeros: AbstractSet[int] = frozenset()
) -> Program:
    """The blocks of one kernel's code object; `positive` and `zeros` as in Program."""
    from gfxemu.codeobject import CODE_BASE
    from gfxemu.core import load_core
    from gfxemu.lower import Lowering
    from gfxemu.lower_dual import lower_any

    core, instructions = load_core(), code.instructions
    index = {item.address: place for place, item in enumerate(instructions)}
    lowering = Lowering(
        arch=code.target, code_address=CODE_BASE + code.text_address, index=index, types=core.types
    )  # a branch's target is then the number of an instruction
    steps = [
        tuple(Step(place=place, micro=micro, mnemonic=item.base) for micro in lower_any(lowering, item))
        for place, item in enumerate(instructions)
    ]
    entry = index[kernel.entry + (256 if kernel.preload & 0x7F else 0)]
    blocks, block_of = _cut(steps, entry)
    order = _sort(blocks, block_of[entry])
    sources = _find_sources(blocks, order)
    return Program(
        blocks=blocks, entry=block_of[entry], order=order, sources=sources, loops=_find_loops(sources, order),
        lanes=kernel.wavefront_size, threads=kernel.max_threads, block_of=block_of, ops=core.ops,
        kernarg=_count_user_registers(kernel.properties & 7), positive=positive, zeros=zeros,
        preloaded={
            _count_user_registers(kernel.properties & 127) + place: 4 * place for place in range(kernel.preload & 0x7F)
        },
    )  # fmt: skip


def _count_user_registers(properties: int) -> int:
    """Those of kernel_code_properties, in LLVM's order: segment buffer, dispatch, queue, kernarg, id, scratch."""
    return sum(size for bit, size in enumerate((4, 2, 2, 2, 2, 2, 1)) if properties >> bit & 1)


def _cut(steps: Sequence[tuple[Step, ...]], entry: int) -> tuple[tuple[Block, ...], tuple[int, ...]]:
    starts = {0, entry}
    for place, own in enumerate(steps):
        if own[-1].micro.op.startswith(ENDS):
            starts.add(place + 1)
            if "branch" in own[-1].micro.op:
                starts.add(own[-1].micro.target)
    firsts = sorted(start for start in starts if start < len(steps))
    number = {first: order for order, first in enumerate(firsts)}
    blocks, block_of = [], []
    for order, (first, end) in enumerate(zip(firsts, [*firsts[1:], len(steps)], strict=True)):
        last = steps[end - 1][-1].micro
        onward = () if last.op.startswith(("s_branch", "s_endpgm")) or end == len(steps) else (number[end],)
        follow = (*onward, number[last.target]) if "branch" in last.op else onward
        blocks.append(Block(first=first, steps=tuple(step for own in steps[first:end] for step in own), follow=follow))
        block_of += [order] * (end - first)
    return tuple(blocks), tuple(block_of)


def _sort(blocks: Sequence[Block], entry: int) -> dict[int, int]:
    """Reverse postorder of a depth-first walk."""
    finished: list[int] = []
    seen, path = {entry}, [(entry, iter(blocks[entry].follow))]
    while path:
        block, onward = path[-1]
        target = next((item for item in onward if item not in seen), None)
        if target is None:
            finished.append(block)
            path.pop()
        else:
            seen.add(target)
            path.append((target, iter(blocks[target].follow)))
    return {block: place for place, block in enumerate(reversed(finished))}


def _find_sources(blocks: Sequence[Block], order: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
    sources: dict[int, tuple[int, ...]] = {}
    for block in order:
        for target in blocks[block].follow:
            sources[target] = (*sources.get(target, ()), block)
    return sources


def _find_loops(
    sources: Mapping[int, tuple[int, ...]], order: Mapping[int, int]
) -> dict[tuple[int, int], frozenset[int]]:
    loops = {}
    for start, ends in sources.items():
        for end in ends:
            if order[end] >= order[start]:
                own, pending = {start, end}, [end] if end != start else []
                while pending:
                    fresh = [item for item in sources.get(pending.pop(), ()) if item not in own]
                    own.update(fresh)
                    pending += fresh
                loops[end, start] = frozenset(own)
    return loops


def find_detour(blocks: Sequence[Block], first: int, end: int) -> frozenset[int] | None:
    """Blocks that may run from the start of `first` until `end` is reached; None if the kernel may end before."""
    own, pending = {first}, [first]
    while pending:
        block = pending.pop()
        if not blocks[block].follow:
            return None
        fresh = [item for item in blocks[block].follow if item != end and item not in own]
        own.update(fresh)
        pending += fresh
    return frozenset(own)


def has_modifiers(micro: Any) -> bool:
    """Whether a micro-op changes an operand or its result: sign, half, limit or factor."""
    return bool(micro.neg or micro.abs or micro.op_sel or micro.clamp or micro.omod)


def does_nothing(program: Program, place: int) -> bool:
    """Whether the emulator takes an instruction of one dword for one that does nothing."""
    steps = [step for step in program.blocks[program.block_of[place]].steps if step.place == place]
    return len(steps) == 1 and steps[0].micro.op == "s_nop" and steps[0].micro.next - steps[0].micro.pc == 4
