"""fused_moe + arch → variants: align, two grouped products, and the sum of a token's experts; five launches."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Argument, Kernel, Launch, Variant, Workspace, integer, number, pointer
from rockiln_kernels.variants.moe_align import make_align_launches
from rockiln_kernels.variants.tiles import read_aligned_tiles

SLOTS = "M * top"
HALF = "(N2 // 2)"


def count_blocks(rows: int) -> str:
    """Formula: blocks of `rows` slots that any choice of experts fits into."""
    return f"cdiv(M * top + min(E, M * top) * {rows - 1}, {rows})"


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the op for `arch`."""
    spec = read_table()["fused_moe"]
    return tuple(variant for cell in spec.cells for variant in _make_cell(spec, cell, arch))


def _make_cell(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    for tile, is_aligned in read_aligned_tiles("fused_moe", arch, "same", cell):
        rows = tile.sizes["BLOCK_M"]
        blocks = count_blocks(rows)
        yield Variant(
            op=spec.name,
            cell=cell,
            name=f"{tile.name}-{'aligned' if is_aligned else 'any'}",
            launches=(
                *make_align_launches("E", str(rows), blocks, read_tiles("moe_align", arch)[0]),
                Launch(kernel=_make_gate_up(cell, tile, is_aligned), grid=(blocks, f"cdiv({HALF}, BLOCK_N)", "1")),
                Launch(kernel=_make_down(cell, tile, is_aligned), grid=(blocks, "cdiv(K, BLOCK_N)", "1")),
                make_sum(cell),
            ),
            workspaces=make_workspaces(cell, rows),
            rank=f"{blocks} * {rows + 64} * {1 if is_aligned else 2}",
        )


def make_workspaces(dtype: str, rows: int) -> tuple[Workspace, ...]:
    """Counts and order of the slots, the hidden rows, and the slots' outputs."""
    blocks = count_blocks(rows)
    return (
        Workspace(name="counts", dtype="i32", size="E"),
        Workspace(name="sorted_slots", dtype="i32", size=f"{blocks} * {rows}"),
        Workspace(name="block_experts", dtype="i32", size=blocks),
        Workspace(name="total", dtype="i32", size="1"),
        Workspace(name="hidden", dtype=dtype, size=f"{SLOTS} * {HALF}"),
        Workspace(name="parts", dtype="f32", size=f"{SLOTS} * K"),
    )


_ORDER = (pointer("sorted_slots", "i32"), pointer("block_experts", "i32"))
PAIR = (integer("gate_step", "1 + interleaved"), integer("up_start", f"interleaved + {HALF} * (1 - interleaved)"))
GATE = (number("alpha"), number("limit"), number("up_offset"))


def _make_gate_up(cell: str, tile: Tile, is_aligned: bool) -> Kernel:  # one of two, never a flag
    step, place = (16, 16) if is_aligned else (1, DTYPES[cell].size_bytes)
    args = (
        pointer("a", cell, "x", divisible_by=place),
        pointer("b", cell, "gate_up", divisible_by=place),
        pointer("bias", cell, "gate_up_bias", divisible_by=DTYPES[cell].size_bytes),
        *_ORDER,
        pointer("out", cell, "hidden"),
        integer("N", HALF, divisible_by=step),
        integer("K", divisible_by=step),
        integer("slots", SLOTS),
        integer("top"),
        integer("a_stride", "x_stride", divisible_by=step),
        *PAIR,
        *GATE,
        integer("has_bias", "has_gate_up_bias"),
    )
    return make_kernel("moe_gate_up", args, tile)


def _make_down(cell: str, tile: Tile, is_aligned: bool) -> Kernel:  # one of two, never a flag
    step, place = (16, 16) if is_aligned else (1, DTYPES[cell].size_bytes)
    args = (
        pointer("a", cell, "hidden"),
        pointer("b", cell, "down", divisible_by=place),
        pointer("bias", cell, "down_bias", divisible_by=DTYPES[cell].size_bytes),
        *_ORDER,
        pointer("weights", "f32", divisible_by=4),
        pointer("out", "f32", "parts"),
        integer("N", "K", divisible_by=step),
        integer("K", HALF, divisible_by=step),
        integer("slots", SLOTS),
        integer("has_bias", "has_down_bias"),
    )
    return make_kernel("moe_down", args, tile)


def make_kernel(function: str, args: tuple[Argument, ...], tile: Tile) -> Kernel:
    """A grouped product of ops/fused_moe.py."""
    return Kernel(
        source="fused_moe",
        function=function,
        args=args,
        constants=tuple(tile.sizes.items()),
        warps=tile.warps,
        stages=tile.stages,
        kernel_class="matrix",
        matrix="matrix",
    )


def make_sum(cell: str) -> Launch:
    """A token's experts, added up."""
    kernel = Kernel(
        source="fused_moe",
        function="moe_sum",
        args=(
            pointer("parts", "f32"),
            pointer("ids", "i32", divisible_by=4),
            pointer("out", cell),
            integer("N", "K"),
            integer("top"),
            integer("experts", "E"),
        ),
        constants=(("BLOCK", 1024),),
        warps=4,
        kernel_class="reduction",
    )
    return Launch(kernel=kernel, grid=("M", "cdiv(K, BLOCK)", "1"))
