"""gemm_mx's families + arch → variants: the scaled matrix instruction where there is one, else decoded to bf16."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.specs.gemm import ACTIVATIONS
from rockiln_kernels.specs.gemm_mx import COLUMNS, FORMATS
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile
from rockiln_kernels.variant import Argument, Kernel, Launch, Variant, integer, pointer
from rockiln_kernels.variants.tiles import rank_tile, read_aligned_tiles, tile_grid


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the families for `arch`."""
    pairs = [(base, suffix) for base in FORMATS for suffix in (*ACTIVATIONS, "_swiglu")]
    return tuple(variant for base, suffix in pairs for variant in _make_op(base, suffix, arch))


def _make_op(base: str, suffix: str, arch: Arch) -> Iterator[Variant]:
    spec = read_table()[f"{base}{suffix}"]
    columns = "N // 2" if suffix == "_swiglu" else "N"
    is_scaled = arch.has_scaled_matrix and FORMATS[base][0] != "bf16"
    for tile, is_aligned in read_aligned_tiles("gemm_mx", arch, "scaled" if is_scaled else "decode", "bf16"):
        kernel = _make_kernel(base, suffix, tile, is_scaled=is_scaled, step=16 if is_aligned else 1)
        yield Variant(
            op=spec.name,
            cell="bf16",
            name=f"{tile.name}-{'aligned' if is_aligned else 'any'}",
            launches=(Launch(kernel=kernel, grid=tile_grid(columns)),),
            decoded=not is_scaled,
            rank=rank_tile(tile, "M", columns, is_aligned=is_aligned),
        )


def _make_kernel(base: str, suffix: str, tile: Tile, *, is_scaled: bool, step: int) -> Kernel:
    a_format, b_format = FORMATS[base]
    epilogue = suffix.removeprefix("_") or "none"
    return Kernel(
        source="gemm_mx",
        function="gemm_mx",
        args=(
            *_make_pointers(a_format, step),
            *_make_integers(COLUMNS[a_format], is_pair=epilogue == "swiglu", step=step),
        ),
        constants=(
            ("EPILOGUE", epilogue),
            ("A_FORMAT", a_format),
            ("B_FORMAT", b_format),
            ("SCALED", is_scaled),
            *tile.sizes.items(),
        ),
        warps=tile.warps,
        stages=tile.stages,
        waves_per_eu=tile.waves_per_eu,
        matrix_instr_nonkdim=tile.matrix_instr_nonkdim,
        kernel_class="matrix",
        matrix="scaled" if is_scaled else "matrix",
    )


def _make_pointers(a_format: str, step: int) -> tuple[Argument, ...]:
    """Without scales of a their pointer is b's, which nobody reads."""
    is_wide = a_format == "bf16"
    return (
        pointer("a", "bf16" if is_wide else "u8", divisible_by=max(step, 2) if is_wide else step),
        pointer("b", "u8", divisible_by=step),
        pointer("a_scale", "u8", "b_scale" if is_wide else "a_scale", divisible_by=1),
        pointer("b_scale", "u8", divisible_by=1),
        pointer("bias", "f32", divisible_by=4),
        pointer("out", "bf16"),
    )


def _make_integers(k: str, *, is_pair: bool, step: int) -> tuple[Argument, ...]:
    """Sizes, strides in bytes or bf16, and where gate and up lie; K is a multiple of 32 as it is."""
    columns = "N // 2" if is_pair else "N"
    pair = ("1 + interleaved", "interleaved + N // 2 * (1 - interleaved)") if is_pair else ("1", "0")
    return (
        integer("M"),
        integer("N", columns, divisible_by=step),
        integer("K", k, divisible_by=16),
        integer("a_stride", divisible_by=step),
        integer("b_stride", divisible_by=step),
        integer("out_stride", columns, divisible_by=step),
        integer("has_bias"),
        integer("gate_step", pair[0]),
        integer("up_start", pair[1]),
    )
