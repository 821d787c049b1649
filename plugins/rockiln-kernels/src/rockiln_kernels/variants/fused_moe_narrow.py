"""fused_moe_mxfp4 and fused_moe_fp8 + arch → variants, launched as fused_moe's."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.fp8 import fp8_pointer_dtype, is_software
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Argument, Kernel, Launch, Variant, integer, pointer
from rockiln_kernels.variants.fused_moe import GATE, HALF, PAIR, SLOTS, count_blocks, make_sum, make_workspaces
from rockiln_kernels.variants.moe_align import make_align_launches
from rockiln_kernels.variants.tiles import read_aligned_tiles
from rockiln_kernels.wanted_table import fits_arch


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of both ops for `arch`."""
    specs = [read_table()[name] for name in ("fused_moe_mxfp4", "fused_moe_fp8")]
    cells = [(spec, cell) for spec in specs for cell in spec.cells if fits_arch(spec, cell, arch)]
    return tuple(variant for spec, cell in cells for variant in _make_cell(spec, cell, arch))


def _describe_weights(spec: OpSpec, cell: str, arch: Arch) -> tuple[str, str, str]:
    """(dtype of pointers to weights, of pointers to scales, FORMAT as ops/fused_moe_narrow.py takes it)."""
    dtypes = spec.cell_dtypes(cell)
    if "Q" not in dtypes:
        return "u8", "u8", "e2m1"
    return fp8_pointer_dtype(dtypes["Q"], arch), "f32", "e4m3" if is_software(dtypes["Q"], arch) else ""


def _make_cell(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    types = _describe_weights(spec, cell, arch)
    for tile, is_aligned in read_aligned_tiles("fused_moe_narrow", arch, "narrow", cell):
        rows, step = tile.sizes["BLOCK_M"], 16 if is_aligned else 1
        blocks = count_blocks(rows)
        products = (
            (_make_kernel("moe_narrow_gate_up", _make_gate_up_arguments(types, step), types[2], tile), HALF),
            (_make_kernel("moe_narrow_down", _make_down_arguments(types, step), types[2], tile), "K"),
        )
        yield Variant(
            op=spec.name,
            cell=cell,
            name=f"{tile.name}-{'aligned' if is_aligned else 'any'}",
            launches=(
                *make_align_launches("E", str(rows), blocks, read_tiles("moe_align", arch)[0]),
                *(Launch(kernel=kernel, grid=(blocks, f"cdiv({n}, BLOCK_N)", "1")) for kernel, n in products),
                make_sum("bf16"),
            ),
            workspaces=make_workspaces("bf16", rows),
            decoded=True,
            rank=f"{blocks} * {rows + 64} * {1 if is_aligned else 2}",
        )


def _make_kernel(function: str, args: tuple[Argument, ...], form: str, tile: Tile) -> Kernel:
    return Kernel(
        source="fused_moe_narrow",
        function=function,
        args=args,
        constants=(("FORMAT", form), *tile.sizes.items()),
        warps=tile.warps,
        stages=tile.stages,
        kernel_class="matrix",
        matrix="matrix",
    )


def _make_weights(name: str, types: tuple[str, str, str], step: int) -> tuple[Argument, ...]:
    scale_bytes = 4 if types[1] == "f32" else 1
    return (
        pointer("b", types[0], name, divisible_by=step),
        pointer("scales", types[1], f"{name}_scale", divisible_by=scale_bytes),
        pointer("bias", "bf16", f"{name}_bias", divisible_by=2),
        pointer("sorted_slots", "i32"),
        pointer("block_experts", "i32"),
    )


def _make_gate_up_arguments(types: tuple[str, str, str], step: int) -> tuple[Argument, ...]:
    return (
        pointer("a", "bf16", "x", divisible_by=max(step, 2)),
        *_make_weights("gate_up", types, step),
        pointer("out", "bf16", "hidden"),
        integer("N", HALF, divisible_by=step),
        integer("K", divisible_by=step),
        integer("slots", SLOTS),
        integer("top"),
        integer("a_stride", "x_stride", divisible_by=step),
        *PAIR,
        *GATE,
        integer("has_bias", "has_gate_up_bias"),
    )


def _make_down_arguments(types: tuple[str, str, str], step: int) -> tuple[Argument, ...]:
    return (
        pointer("a", "bf16", "hidden"),
        *_make_weights("down", types, step),
        pointer("weights", "f32", divisible_by=4),
        pointer("out", "f32", "parts"),
        integer("N", "K", divisible_by=step),
        integer("K", HALF, divisible_by=step),
        integer("slots", SLOTS),
        integer("has_bias", "has_down_bias"),
    )
