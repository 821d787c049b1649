"""moe_align + arch → its variant: one kernel counts, one places."""

from __future__ import annotations

from rockiln_kernels.archs import Arch
from rockiln_kernels.specs.moe_align import CAPACITY
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Kernel, Launch, Variant, Workspace, integer, pointer

_EXPERTS = 1024
"""Counts of experts that one program adds up."""


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the op for `arch`."""
    return tuple(_make_variant(tile) for tile in read_tiles("moe_align", arch))


def _make_variant(tile: Tile) -> Variant:
    count = Kernel(
        source="moe_align",
        function="moe_count",
        args=(_IDS, pointer("counts", "i32"), integer("slots", "M * top")),
        constants=tuple(tile.sizes.items()),
        warps=tile.warps,
        kernel_class="reduction",
    )
    return Variant(
        op="moe_align",
        cell="i32",
        name=tile.name,
        launches=(
            Launch(kernel=count, grid=("experts", "1", "1")),
            Launch(kernel=_make_placing(tile), grid=("experts + 1", "1", "1")),
        ),
        workspaces=(Workspace(name="counts", dtype="i32", size="experts"),),
    )


_IDS = pointer("ids", "i32", divisible_by=4)


def _make_placing(tile: Tile) -> Kernel:
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
            integer("experts"),
            integer("block_size"),
            integer("capacity", f"{CAPACITY} * block_size"),
        ),
        constants=(("BLOCK_E", _EXPERTS), *tile.sizes.items()),
        warps=tile.warps,
        kernel_class="reduction",
    )
