"""gemm_fp8's families + arch → variants."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.fp8 import fp8_pointer_dtype, is_software
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_origins, read_table
from rockiln_kernels.tile_table import Tile
from rockiln_kernels.variant import Argument, Kernel, Launch, Variant, integer, pointer
from rockiln_kernels.variants.tiles import rank_tile, read_aligned_tiles, tile_grid
from rockiln_kernels.wanted_table import fits_arch


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the families for `arch`."""
    specs = [spec for name, spec in read_table().items() if read_origins()[name] == "gemm_fp8"]
    cells = [(spec, cell) for spec in specs for cell in spec.cells if fits_arch(spec, cell, arch)]
    return tuple(variant for spec, cell in cells for variant in _make_cell(spec, cell, arch))


def _make_cell(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    columns = "N // 2" if spec.name.endswith("_swiglu") else "N"
    use = "decode" if is_software(cell, arch) else "fp8"
    for tile, is_aligned in read_aligned_tiles("gemm_fp8", arch, use, cell):
        kernel = _make_kernel(spec, cell, arch, tile, is_aligned=is_aligned)
        yield Variant(
            op=spec.name,
            cell=cell,
            name=f"{tile.name}-{'aligned' if is_aligned else 'any'}",
            launches=(Launch(kernel=kernel, grid=tile_grid(columns)),),
            decoded=use == "decode",
            rank=rank_tile(tile, "M", columns, is_aligned=is_aligned),
        )


def _make_kernel(spec: OpSpec, cell: str, arch: Arch, tile: Tile, *, is_aligned: bool) -> Kernel:
    is_block = spec.name.startswith("gemm_fp8_block")
    is_narrow = is_software(cell, arch)
    epilogue = spec.name.removeprefix("gemm_fp8").removeprefix("_block").removeprefix("_") or "none"
    form = cell if is_narrow else ""
    return Kernel(
        source="gemm_fp8",
        function="gemm_fp8",
        args=(
            *_make_pointers(fp8_pointer_dtype(cell, arch), is_aligned=is_aligned),
            *_make_integers(is_pair=epilogue == "swiglu", is_block=is_block, step=16 if is_aligned else 1),
        ),
        constants=(("EPILOGUE", epilogue), ("BLOCKED", is_block), ("FORMAT", form), *tile.sizes.items()),
        warps=tile.warps,
        stages=tile.stages,
        waves_per_eu=tile.waves_per_eu,
        kernel_class="matrix",
        matrix="matrix" if is_narrow else "fp8",
    )


def _make_pointers(dtype: str, *, is_aligned: bool) -> tuple[Argument, ...]:
    place = 16 if is_aligned else 1
    scales = (pointer(name, "f32", divisible_by=4) for name in ("a_scale", "b_scale", "bias"))
    return (
        pointer("a", dtype, divisible_by=place),
        pointer("b", dtype, divisible_by=place),
        *scales,
        pointer("out", "bf16"),
    )


def _make_integers(*, is_pair: bool, is_block: bool, step: int) -> tuple[Argument, ...]:
    """Sizes, strides, where scales lie, and where gate and up do."""
    columns = "N // 2" if is_pair else "N"
    scales = ("cdiv(K, 128)", "cdiv(K, 128)", "128") if is_block else ("1 * (SA > 1)", "1 * (SB > 1)", "1")
    pair = ("1 + interleaved", "interleaved + N // 2 * (1 - interleaved)") if is_pair else ("1", "0")
    return (
        integer("M"),
        integer("N", columns, divisible_by=step),
        integer("K", divisible_by=step),
        integer("a_stride", divisible_by=step),
        integer("b_stride", divisible_by=step),
        integer("out_stride", columns, divisible_by=step),
        integer("a_scale_stride", scales[0]),
        integer("b_scale_stride", scales[1]),
        integer("b_scale_rows", scales[2]),
        integer("has_bias"),
        integer("gate_step", pair[0]),
        integer("up_start", pair[1]),
    )
