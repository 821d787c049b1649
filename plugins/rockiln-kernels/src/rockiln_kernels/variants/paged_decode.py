"""paged_decode and paged_decode_fp8 + arch → variants: a tile for each width of heads, and the merging kernel."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import read_tiles
from rockiln_kernels.variant import Argument, Launch, Requirement, Variant, integer, number, pointer
from rockiln_kernels.variants.attention_masks import PARTS, WINDOW_LEFT
from rockiln_kernels.variants.split_kv import describe_cache, make_attention_kernel, make_merge, make_workspaces
from rockiln_kernels.wanted_table import fits_arch

WIDTHS = (64, 80, 128)
_ROWS = "B * L * HQ"


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of both ops for `arch`."""
    specs = [read_table()[name] for name in ("paged_decode", "paged_decode_fp8")]
    cells = [(spec, cell) for spec in specs for cell in spec.cells if fits_arch(spec, cell, arch)]
    return tuple(
        variant for spec, cell in cells for width in WIDTHS for variant in _make_width(spec, cell, width, arch)
    )


def _make_width(spec: OpSpec, cell: str, width: int, arch: Arch) -> Iterator[Variant]:
    dtypes = spec.cell_dtypes(cell)
    cache, form = describe_cache(dtypes, arch)
    parts = tuple(zip(("D1", "D2"), PARTS[width], strict=True))
    for tile in read_tiles("paged_decode", arch, use=f"d{width}"):
        args = _make_arguments(dtypes["T"], cache, is_fp8="Q" in dtypes)
        kernel = make_attention_kernel("paged_decode", args, tile, (*parts, ("FORMAT", form)))
        yield Variant(
            op=spec.name,
            cell=cell,
            name=f"d{width}-{tile.name}",
            launches=(
                Launch(kernel=kernel, grid=("B", "HK * cdiv(L * (HQ // HK), BLOCK_M)", "splits")),
                make_merge(dtypes["T"], _ROWS, "HQ", width, has_sinks=True),
            ),
            workspaces=make_workspaces(_ROWS, width),
            requires=(Requirement(formula=f"D == {width}", reason=f"is for heads of {width}"),),
            decoded=bool(form),
        )


def _make_arguments(dtype: str, cache: str, *, is_fp8: bool) -> tuple[Argument, ...]:
    """Without scales their pointers are another array's, which nobody reads."""
    return (
        pointer("q", dtype),
        pointer("k_cache", cache),
        pointer("v_cache", cache),
        pointer("block_tables", "i32", divisible_by=4),
        pointer("context_lens", "i32", divisible_by=4),
        pointer("k_scale", "f32", "k_scale" if is_fp8 else "logs", divisible_by=4),
        pointer("v_scale", "f32", "v_scale" if is_fp8 else "logs", divisible_by=4),
        pointer("parts", "f32"),
        pointer("logs", "f32"),
        number("scale"),
        integer("queries", "L"),
        integer("heads_q", "HQ"),
        integer("heads_k", "HK"),
        integer("block_size", "BS"),
        integer("table_stride", "MB"),
        integer("splits"),
        integer("window_left", WINDOW_LEFT),
        integer("has_scales", str(int(is_fp8))),
    )
