"""stream_k_gemm + arch → variants: the tiles of gemm, multiplied in even shares and then added up."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile
from rockiln_kernels.variant import Argument, Kernel, Launch, Variant, Workspace, integer, pointer
from rockiln_kernels.variants.gemm import matrix_kind
from rockiln_kernels.variants.tiles import rank_tile, read_aligned_tiles


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the op for `arch`."""
    spec = read_table()["stream_k_gemm"]
    return tuple(variant for cell in spec.cells for variant in _make_cell(spec, cell, arch))


def _make_cell(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    for tile, is_aligned in read_aligned_tiles("stream_k_gemm", arch, "stream", cell):
        m, n, k = (tile.sizes[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
        tiles = f"cdiv(M, {m}) * cdiv(N, {n})"
        share = f"cdiv({tiles} * cdiv(K, {k}), programs)"
        yield Variant(
            op=spec.name,
            cell=cell,
            name=f"{tile.name}-{'aligned' if is_aligned else 'any'}",
            launches=(
                Launch(
                    kernel=_make_multiply(cell, arch, tile, share, is_aligned=is_aligned), grid=("programs", "1", "1")
                ),
                Launch(kernel=_make_add(cell, tile, share), grid=(tiles, "1", "1")),
            ),
            workspaces=(Workspace(name="parts", dtype="f32", size=f"programs * {2 * m * n}"),),
            rank=rank_tile(tile, "M", "N", is_aligned=is_aligned),
        )


def _make_multiply(cell: str, arch: Arch, tile: Tile, share: str, *, is_aligned: bool) -> Kernel:
    step, place = (16, 16) if is_aligned else (1, DTYPES[cell].size_bytes)
    args = (
        pointer("a", cell, divisible_by=place),
        pointer("b", cell, divisible_by=place),
        pointer("out", cell),
        pointer("parts", "f32"),
        *_make_sizes(step),
        integer("a_stride", divisible_by=step),
        integer("b_stride", divisible_by=step),
        integer("out_stride", "N", divisible_by=step),
        integer("share", share),
    )
    return Kernel(
        source="stream_k_gemm",
        function="stream_k_multiply",
        args=args,
        constants=tuple(tile.sizes.items()),
        warps=tile.warps,
        stages=tile.stages,
        kernel_class="matrix",
        matrix=matrix_kind(cell, arch),
    )


def _make_sizes(step: int) -> tuple[Argument, ...]:
    return integer("M"), integer("N", divisible_by=step), integer("K", divisible_by=step)


def _make_add(cell: str, tile: Tile, share: str) -> Kernel:
    return Kernel(
        source="stream_k_gemm",
        function="stream_k_add",
        args=(
            pointer("parts", "f32"),
            pointer("out", cell),
            *_make_sizes(1),
            integer("out_stride", "N"),
            integer("share", share),
        ),
        constants=tuple(tile.sizes.items()),
        warps=tile.warps,
        kernel_class="reduction",
    )
