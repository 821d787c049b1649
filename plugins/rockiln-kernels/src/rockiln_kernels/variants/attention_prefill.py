"""attention_prefill + arch → variants: a tile for each width of heads."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Argument, Kernel, Launch, Variant, integer, number, pointer
from rockiln_kernels.variants.attention_backward import make_backward_variants
from rockiln_kernels.variants.attention_masks import WIDTHS, WINDOW_LEFT, WINDOW_RIGHT, require_widths, split_widths


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the op for `arch`."""
    spec = read_table()["attention_prefill"]
    pairs = [(cell, width) for cell in spec.cells for width in WIDTHS]
    forward = tuple(variant for cell, width in pairs for variant in _make_width(spec, cell, width, arch))
    return (*forward, *make_backward_variants(arch))


def _make_width(spec: OpSpec, cell: str, width: tuple[int, int], arch: Arch) -> Iterator[Variant]:
    for tile in read_tiles("attention_prefill", arch, use=f"d{width[0]}"):
        rows = tile.sizes["BLOCK_M"]
        yield Variant(
            op=spec.name,
            cell=cell,
            name=f"d{width[0]}-{tile.name}",
            launches=(
                Launch(kernel=_make_kernel(cell, width, tile), grid=("cdiv(max_seqlen_q, BLOCK_M)", "HQ", "B1 - 1")),
            ),
            requires=(require_widths(*width),),
            rank=f"cdiv(max_seqlen_q, {rows}) * {rows + 32}",
        )


def _make_kernel(cell: str, width: tuple[int, int], tile: Tile) -> Kernel:
    return Kernel(
        source="attention_prefill",
        function="attention_prefill",
        args=_make_arguments(cell),
        constants=(*split_widths(*width), *tile.sizes.items()),
        warps=tile.warps,
        stages=tile.stages,
        waves_per_eu=tile.waves_per_eu,
        matrix_instr_nonkdim=tile.matrix_instr_nonkdim,
        kernel_class="attention",
        matrix="matrix",
    )


def _make_arguments(cell: str) -> tuple[Argument, ...]:
    return (
        *(pointer(name, cell) for name in ("q", "k", "v")),
        pointer("sinks", "f32", divisible_by=4),
        pointer("cu_q", "i32", "cu_seqlens_q", divisible_by=4),
        pointer("cu_k", "i32", "cu_seqlens_k", divisible_by=4),
        pointer("out", cell),
        pointer("lse", "f32"),
        number("scale"),
        integer("heads_q", "HQ"),
        integer("heads_k", "HK"),
        integer("tokens_q", "TQ"),
        *(integer(f"{name}_stride", divisible_by=16) for name in ("q", "k", "v")),
        integer("out_stride", "HQ * DV", divisible_by=16),
        integer("window_left", WINDOW_LEFT),
        integer("window_right", WINDOW_RIGHT),
        integer("has_sinks"),
    )
