"""A kernel → the first of its instructions that names a register beyond those it asked for, if any.

On a device such an access hits another wave's registers, or faults. Only the kernel's own body is looked at: functions
that it calls share its registers, and the compiler counted theirs.
"""

from __future__ import annotations

import functools

from gfxemu.codeobject import Kernel
from gfxemu.decode import decode_all
from gfxemu.faults import RegisterBounds, Where
from gfxemu.instruction import Instruction


def limits_of(kernel: Kernel) -> tuple[int, int]:
    """VGPRs and AGPRs of the descriptor: rsrc1[5:0] in granules; on gfx90a and later rsrc3[5:0] splits them."""
    total = ((kernel.rsrc1 & 63) + 1) * kernel.code.target.vgpr_granule
    if kernel.code.target.generation != 9:
        return min(256, total), 0
    vectors = min(total, ((kernel.rsrc3 & 63) + 1) * 4)
    return vectors, total - vectors


def end_of(kernel: Kernel) -> int:
    """Where the kernel's body ends: at the next symbol of the code section."""
    starts = sorted(value - kernel.code.text_address for value in kernel.code.symbols.values())
    return next((start for start in starts if start > kernel.entry), len(kernel.code.text))


@functools.lru_cache(maxsize=256)
def find_excess(
    arch: str, text: bytes, body: tuple[int, int], vectors: int, accumulators: int
) -> tuple[Instruction, str] | None:
    """The first instruction and register beyond the limits; remembered, since kernels are launched often."""
    for item in decode_all(text, arch):
        if not body[0] <= item.address < body[1]:
            continue
        for operand in (*item.operands, *(half for part in item.parts for half in part.operands)):
            limit = {"v": vectors, "a": accumulators}.get(operand.kind)
            if limit is not None and operand.index + operand.width > limit:
                return item, f"{operand.text(item.generation)} of {limit} {'VGPRs' if operand.kind == 'v' else 'AGPRs'}"
    return None


def check_registers(kernel: Kernel) -> None:
    """RegisterBounds, if the kernel names a register that it did not ask for."""
    found = find_excess(kernel.code.arch, kernel.code.text, (kernel.entry, end_of(kernel)), *limits_of(kernel))
    if found:
        item, what = found
        nobody = {"workgroup": (0, 0, 0), "wave": 0, "lanes": 0, "address": 0}
        where = Where(kernel=kernel.name, pc=item.address, instruction=item.text(), **nobody)  # type: ignore[arg-type]
        raise RegisterBounds(f"{what}, beyond what the descriptor allocates", where)
