"""A *_and_mul family + arch → its variants: tiles x order of gate and up."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.fp8 import fp8_constants, fp8_output_dtype
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Argument, Constant, Kernel, Launch, Requirement, Variant, integer, number, pointer
from rockiln_kernels.wanted_table import fits_arch

SUFFIXES = ("", "_fp8", "_mxfp4", "_backward")


def make_gate_variants(family: str, arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the family's four ops for `arch`."""
    specs = [read_table()[f"{family}{suffix}"] for suffix in SUFFIXES]
    cells = [(spec, cell) for spec in specs for cell in spec.cells if fits_arch(spec, cell, arch)]
    return tuple(variant for spec, cell in cells for variant in _make_cell(family, spec, cell, arch))


def _make_cell(family: str, spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    for interleaved in (False, True):
        for use in ("aligned", "any"):
            for tile in read_tiles("silu_and_mul", arch, use=use):
                kernel = _make_kernel(family, spec, cell, arch, tile, interleaved=interleaved)
                yield Variant(
                    op=spec.name,
                    cell=cell,
                    name=f"{tile.name}-{'interleaved' if interleaved else 'halves'}",
                    launches=(Launch(kernel=kernel, grid=("M", "cdiv(D2 // 2, BLOCK)", "1")),),
                    requires=(_require_order(interleaved=interleaved),),
                )


def _require_order(*, interleaved: bool) -> Requirement:
    """The order is a constant of the code."""
    order = "interleaved" if interleaved else "in halves"
    return Requirement(formula=f"interleaved == {int(interleaved)}", reason=f"is for gate and up {order}")


def _make_kernel(family: str, spec: OpSpec, cell: str, arch: Arch, tile: Tile, *, interleaved: bool) -> Kernel:
    dtypes = spec.cell_dtypes(cell)
    is_aligned = tile.use == "aligned"
    step = 16 if is_aligned else 1
    pointers = []
    for array in spec.arrays:
        dtype = dtypes.get(array.dtype, array.dtype)
        dtype = fp8_output_dtype(dtype, arch) if array.dtype == "Q" else dtype
        pointers.append(pointer(array.name, dtype, divisible_by=16 if is_aligned else DTYPES[dtype].size_bytes))
    constants: tuple[tuple[str, Constant], ...] = (("INTERLEAVED", interleaved), *tile.sizes.items())
    constants += fp8_constants(dtypes["Q"], arch) if "Q" in dtypes else ()
    strides = [integer(f"{array.name}_stride", divisible_by=step) for array in spec.inputs]
    return Kernel(
        source=family,
        function=spec.name,
        args=(*pointers, *strides, integer("D", "D2 // 2", divisible_by=step), *_scalar_arguments(spec)),
        constants=constants,
        warps=tile.warps,
        stages=tile.stages,
        waves_per_eu=tile.waves_per_eu,
    )


def _scalar_arguments(spec: OpSpec) -> tuple[Argument, ...]:
    """Kernels of all families take all three; what an op has no scalar for is a number here."""
    own = {scalar.name for scalar in spec.scalars}
    neutral = {"limit": "0.0", "alpha": "1.0", "up_offset": "0.0"}
    return tuple(number(name, "" if name in own else value) for name, value in neutral.items())
