"""mla_decode and mla_decode_fp8 + arch → variants, each with the merging kernel."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.specs.mla_decode import LATENT, ROTARY
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import read_tiles
from rockiln_kernels.variant import Argument, Launch, Variant, integer, number, pointer
from rockiln_kernels.variants.split_kv import describe_cache, make_attention_kernel, make_merge, make_workspaces
from rockiln_kernels.wanted_table import fits_arch

_ROWS = "B * L * H"


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of both ops for `arch`."""
    specs = [read_table()[name] for name in ("mla_decode", "mla_decode_fp8")]
    cells = [(spec, cell) for spec in specs for cell in spec.cells if fits_arch(spec, cell, arch)]
    return tuple(variant for spec, cell in cells for variant in _make_cell(spec, cell, arch))


def _make_cell(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    dtypes = spec.cell_dtypes(cell)
    cache, form = describe_cache(dtypes, arch)
    widths = (("LATENT", LATENT), ("ROTARY", ROTARY), ("FORMAT", form))
    for tile in read_tiles("mla_decode", arch, use="fp8" if "Q" in dtypes else "same"):
        args = _make_arguments(dtypes["T"], cache, is_fp8="Q" in dtypes)
        kernel = make_attention_kernel("mla_decode", args, tile, widths)
        slices = LATENT // tile.sizes["VALUE"]
        yield Variant(
            op=spec.name,
            cell=cell,
            name=tile.name,
            launches=(
                Launch(kernel=kernel, grid=("B", f"cdiv(L * H, BLOCK_M) * {slices}", "splits")),
                make_merge(dtypes["T"], _ROWS, "H", LATENT, has_sinks=False),
            ),
            workspaces=make_workspaces(_ROWS, LATENT),
            decoded=bool(form),
        )


def _make_arguments(dtype: str, cache: str, *, is_fp8: bool) -> tuple[Argument, ...]:
    """Without a scale its pointer is another array's, which nobody reads."""
    return (
        pointer("q", dtype),
        pointer("cache", cache),
        pointer("block_tables", "i32", divisible_by=4),
        pointer("context_lens", "i32", divisible_by=4),
        pointer("cache_scale", "f32", "cache_scale" if is_fp8 else "logs", divisible_by=4),
        pointer("parts", "f32"),
        pointer("logs", "f32"),
        number("scale"),
        integer("queries", "L"),
        integer("heads", "H"),
        integer("block_size", "BS"),
        integer("table_stride", "MB"),
        integer("splits"),
        integer("has_scale", str(int(is_fp8))),
    )
