"""attention_prefill_backward + arch → variants: dq with delta, then dk and dv."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Argument, Kernel, Launch, Variant, Workspace, integer, number, pointer
from rockiln_kernels.variants.attention_masks import WIDTHS, WINDOW_LEFT, WINDOW_RIGHT, require_widths, split_widths

_BLOCKS_OF_KEYS = "cdiv(max_seqlen_k + (max_seqlen_k < 1) * TK, BLOCK_N)"


def make_backward_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the op for `arch`."""
    pairs = [(cell, width) for cell in read_table()["attention_prefill_backward"].cells for width in WIDTHS]
    return tuple(variant for cell, width in pairs for variant in _make_width(cell, width, arch))


def _make_width(cell: str, width: tuple[int, int], arch: Arch) -> Iterator[Variant]:
    for tile in read_tiles("attention_prefill", arch, use=f"backward-d{width[0]}"):
        yield Variant(
            op="attention_prefill_backward",
            cell=cell,
            name=f"d{width[0]}-{tile.name}",
            launches=(
                Launch(
                    kernel=_make_kernel("attention_dq", _make_dq_arguments(cell), width, tile),
                    grid=("cdiv(max_seqlen_q, BLOCK_M)", "HQ", "B1 - 1"),
                ),
                Launch(
                    kernel=_make_kernel("attention_dkdv", _make_dkdv_arguments(cell), width, tile),
                    grid=(_BLOCKS_OF_KEYS, "HK", "B1 - 1"),
                ),
            ),
            workspaces=(Workspace(name="delta", dtype="f32", size="HQ * TQ"),),
            requires=(require_widths(*width),),
        )


def _make_kernel(function: str, args: tuple[Argument, ...], width: tuple[int, int], tile: Tile) -> Kernel:
    return Kernel(
        source="attention_prefill_backward",
        function=function,
        args=args,
        constants=(*split_widths(*width), *tile.sizes.items()),
        warps=tile.warps,
        stages=tile.stages,
        kernel_class="attention",
        matrix="matrix",
    )


_STARTS = (
    pointer("cu_q", "i32", "cu_seqlens_q", divisible_by=4),
    pointer("cu_k", "i32", "cu_seqlens_k", divisible_by=4),
)
_SIZES = (number("scale"), integer("heads_q", "HQ"), integer("heads_k", "HK"), integer("tokens_q", "TQ"))
_WINDOW = (integer("window_left", WINDOW_LEFT), integer("window_right", WINDOW_RIGHT))


def _make_dq_arguments(cell: str) -> tuple[Argument, ...]:
    return (
        *(pointer(name, cell) for name in ("q", "k", "v", "out")),
        pointer("lse", "f32"),
        pointer("dout", cell),
        *_STARTS,
        pointer("dq", cell),
        pointer("delta", "f32"),
        *_SIZES,
        *(integer(f"{name}_stride", divisible_by=16) for name in ("q", "k", "v", "out", "dout")),
        *_WINDOW,
    )


def _make_dkdv_arguments(cell: str) -> tuple[Argument, ...]:
    return (
        *(pointer(name, cell) for name in ("q", "k", "v")),
        pointer("lse", "f32"),
        pointer("dout", cell),
        *_STARTS,
        pointer("delta", "f32"),
        pointer("dk", cell),
        pointer("dv", cell),
        *_SIZES,
        *(integer(f"{name}_stride", divisible_by=16) for name in ("q", "k", "v", "dout")),
        *_WINDOW,
    )
