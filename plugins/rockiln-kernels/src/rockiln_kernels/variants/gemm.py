"""gemm's family + arch → variants: tiles by dtype; for aligned calls with wide loads, and for any call."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.specs.gemm import ACTIVATIONS
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile
from rockiln_kernels.variant import Argument, Kernel, Launch, MatrixKind, Variant, integer, pointer
from rockiln_kernels.variants.tiles import rank_tile, read_aligned_tiles, tile_grid


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the family for `arch`."""
    specs = [read_table()[f"gemm{suffix}"] for suffix in (*ACTIVATIONS, "_swiglu")]
    return tuple(variant for spec in specs for cell in spec.cells for variant in _make_cell(spec, cell, arch))


def _make_cell(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    is_pair = spec.name == "gemm_swiglu"
    columns = "N // 2" if is_pair else "N"
    for tile, is_aligned in read_aligned_tiles("gemm", arch, "pair" if is_pair else "single", cell):
        kernel = _make_kernel(spec, cell, arch, tile, is_aligned=is_aligned)
        yield Variant(
            op=spec.name,
            cell=cell,
            name=f"{tile.name}-{'aligned' if is_aligned else 'any'}",
            launches=(Launch(kernel=kernel, grid=tile_grid(columns)),),
            rank=rank_tile(tile, "M", columns, is_aligned=is_aligned),
        )


def matrix_kind(cell: str, arch: Arch) -> MatrixKind:
    """WMMA has no f32: those archs multiply f32 with FMA."""
    return "" if cell == "f32" and arch.matrix == "wmma" else "matrix"


_PAIR = (integer("gate_step", "1 + interleaved"), integer("up_start", "interleaved + N // 2 * (1 - interleaved)"))


def _make_kernel(spec: OpSpec, cell: str, arch: Arch, tile: Tile, *, is_aligned: bool) -> Kernel:
    is_pair = spec.name == "gemm_swiglu"
    epilogue = () if is_pair else (("EPILOGUE", spec.name.removeprefix("gemm").removeprefix("_") or "none"),)
    names = ("a", "b", "bias", "out")
    pointers = [pointer(name, cell, divisible_by=16 if is_aligned else DTYPES[cell].size_bytes) for name in names]
    return Kernel(
        source="gemm",
        function="gemm_swiglu" if is_pair else "gemm",
        args=(*pointers, *_make_integers("N // 2" if is_pair else "N", 16 if is_aligned else 1), *(_PAIR * is_pair)),
        constants=(*epilogue, *tile.sizes.items()),
        warps=tile.warps,
        stages=tile.stages,
        waves_per_eu=tile.waves_per_eu,
        matrix_instr_nonkdim=tile.matrix_instr_nonkdim,
        kernel_class="matrix",
        matrix=matrix_kind(cell, arch),
    )


def _make_integers(columns: str, step: int) -> tuple[Argument, ...]:
    """M, N and K, the strides of rows, and whether there is a bias; all but M and the last are multiples of `step`."""
    return (
        integer("M"),
        integer("N", columns, divisible_by=step),
        integer("K", divisible_by=step),
        integer("a_stride", divisible_by=step),
        integer("b_stride", divisible_by=step),
        integer("out_stride", columns, divisible_by=step),
        integer("has_bias"),
    )
