"""topk_softmax and topk_sigmoid + arch → variants: a block holds a token's experts."""

from __future__ import annotations

from rockiln_kernels.archs import Arch
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Argument, Kernel, Launch, Requirement, Variant, integer, number, pointer


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of both ops for `arch`."""
    specs = [read_table()[name] for name in ("topk_softmax", "topk_sigmoid")]
    tiles = read_tiles("topk_gating", arch)
    return tuple(_make_variant(spec, cell, tile) for spec in specs for cell in spec.cells for tile in tiles)


def _make_variant(spec: OpSpec, cell: str, tile: Tile) -> Variant:
    block = tile.sizes["BLOCK"]
    kernel = Kernel(
        source="topk_gating",
        function=spec.name,
        args=_make_arguments(cell, is_sigmoid=spec.name == "topk_sigmoid"),
        constants=tuple(tile.sizes.items()),
        warps=tile.warps,
        kernel_class="reduction",
    )
    return Variant(
        op=spec.name,
        cell=cell,
        name=tile.name,
        launches=(Launch(kernel=kernel, grid=("M", "1", "1")),),
        requires=(Requirement(formula=f"E <= {block}", reason=f"there are more than {block} experts"),),
    )


def _make_arguments(cell: str, *, is_sigmoid: bool) -> tuple[Argument, ...]:
    bias = (pointer("bias", "f32", divisible_by=4),) if is_sigmoid else ()
    groups = (integer("groups"), integer("keep"), integer("has_bias")) if is_sigmoid else ()
    return (
        pointer("logits", cell, divisible_by=DTYPES[cell].size_bytes),
        *bias,
        pointer("weights", "f32"),
        pointer("ids", "i32"),
        integer("logits_stride"),
        integer("E"),
        integer("top"),
        number("scaling"),
        integer("renormalise"),
        *groups,
    )
