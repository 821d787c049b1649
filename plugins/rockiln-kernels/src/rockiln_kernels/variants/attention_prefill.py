"""attention_prefill + arch → variants: a tile for each width of heads."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Argument, Constant, Kernel, Launch, Requirement, Variant, integer, number, pointer

PARTS = {64: (64, 0), 80: (64, 16), 128: (128, 0), 192: (128, 64)}
"""A head's width → the powers of two that it is cut into."""
WIDTHS = ((64, 64), (80, 80), (128, 128), (192, 128))
"""Of q and k, and of v."""
NO_LIMIT = 1 << 30

WINDOW_LEFT = f"window_left + (window_left < 0) * {NO_LIMIT}"
WINDOW_RIGHT = f"(1 - causal) * {NO_LIMIT}"


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the op for `arch`."""
    spec = read_table()["attention_prefill"]
    pairs = [(cell, width) for cell in spec.cells for width in WIDTHS]
    return tuple(variant for cell, width in pairs for variant in _make_width(spec, cell, width, arch))


def require_widths(d: int, dv: int) -> Requirement:
    """The widths are constants of the code."""
    return Requirement(formula=f"D == {d} and DV == {dv}", reason=f"is for heads of {d} (q, k) and {dv} (v)")


def split_widths(d: int, dv: int) -> tuple[tuple[str, Constant], ...]:
    """D1, D2, V1 and V2."""
    return tuple(zip(("D1", "D2", "V1", "V2"), (*PARTS[d], *PARTS[dv]), strict=True))


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
