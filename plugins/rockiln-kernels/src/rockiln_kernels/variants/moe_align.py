"""moe_align + arch → its variant: one kernel counts, one places."""

from __future__ import annotations

from rockiln_kernels.archs import Arch
from rockiln_kernels.specs.moe_align import CAPACITY
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Kernel, Launch, Variant, Workspace, integer, pointer

_EXPERTS = 1024
"""Counts of experts that one program adds up."""
_IDS = pointer("ids", "i32", divisible_by=4)


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """The op's one variant, for any arch; `arch` decides nothing."""
    return tuple(_make_variant(tile) for tile in read_tiles("moe_align", arch))


def _make_variant(tile: Tile) -> Variant:
    return Variant(
        op="moe_align",
        cell="i32",
        name=tile.name,
        launches=make_align_launches("experts", "block_size", CAPACITY, tile),
        workspaces=(Workspace(name="counts", dtype="i32", size="experts"),),
    )


def make_align_launches(experts: str, rows: str, blocks: str, tile: Tile) -> tuple[Launch, Launch]:
    """Count, then place: formulas of the experts, of the slots a block has, and of the blocks there may be."""
    return (
        Launch(kernel=_make_count(tile), grid=(experts, "1", "1")),
        Launch(kernel=_make_placing(experts, rows, blocks, tile), grid=(f"{experts} + 1", "1", "1")),
    )


def _make_count(tile: Tile) -> Kernel:
    return Kernel(
        source="moe_align",
        function="moe_count",
        args=(_IDS, pointer("counts", "i32"), integer("slots", "M * top")),
        constants=tuple(tile.sizes.items()),
        warps=tile.warps,
        kernel_class="reduction",
    )


def _make_placing(experts: str, rows: str, blocks: str, tile: Tile) -> Kernel:
    return Kernel(
        source="moe_align",
        function="moe_align",
        args=(
            _IDS,
            pointer("counts", "i32"),
            pointer("sorted_slots", "i32"),
            pointer("block_experts", "i32"),
            pointer("total", "i32"),
            integer("slots", "M * top"),
            integer("experts", experts),
            integer("block_size", rows),
            integer("capacity", f"{blocks} * {rows}"),
        ),
        constants=(("BLOCK_E", _EXPERTS), *tile.sizes.items()),
        warps=tile.warps,
        kernel_class="reduction",
    )
