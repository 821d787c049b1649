"""rope's family + arch → variants: by the number of pairs and their order."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Kernel, Launch, Requirement, Variant, integer, pointer


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the family for `arch`."""
    specs = [read_table()[op] for op in ("rope", "rope_backward")]
    return tuple(variant for spec in specs for cell in spec.cells for variant in _make_cell(spec, cell, arch))


def _make_cell(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    for interleaved in (False, True):
        order = "interleaved" if interleaved else "in halves"
        for use in ("aligned", "any"):
            for tile in read_tiles("rope", arch, use=use):
                block = tile.sizes["BLOCK"]
                yield Variant(
                    op=spec.name,
                    cell=cell,
                    name=f"{tile.name}-{'interleaved' if interleaved else 'halves'}",
                    launches=(
                        Launch(
                            kernel=_make_kernel(spec, cell, tile, interleaved=interleaved),
                            grid=("L", "cdiv(H, HEADS)", "1"),
                        ),
                    ),
                    requires=(
                        Requirement(formula=f"interleaved == {int(interleaved)}", reason=f"is for pairs {order}"),
                        Requirement(formula=f"R <= {block}", reason=f"there are more pairs than {block}"),
                    ),
                )


def _make_kernel(spec: OpSpec, cell: str, tile: Tile, *, interleaved: bool) -> Kernel:
    dtype = spec.cell_dtypes(cell)["T"]
    source, target = spec.inputs[0].name, spec.outputs[0].name
    is_aligned = tile.use == "aligned"
    step, alignment = (16, 16) if is_aligned else (1, DTYPES[dtype].size_bytes)
    return Kernel(
        source="rope",
        function="rope",
        args=(
            pointer("x", dtype, source, divisible_by=alignment),
            pointer("cos", "f32", divisible_by=16 if is_aligned else 4),
            pointer("sin", "f32", divisible_by=16 if is_aligned else 4),
            pointer("positions", "i32", divisible_by=4),
            pointer("y", dtype, target, divisible_by=alignment),
            integer("x_stride", f"{source}_stride", divisible_by=step),
            integer("H"),
            integer("D", divisible_by=step),
            integer("R", divisible_by=step),
        ),
        constants=(("INVERSE", spec.name == "rope_backward"), ("INTERLEAVED", interleaved), *tile.sizes.items()),
        warps=tile.warps,
        stages=tile.stages,
        waves_per_eu=tile.waves_per_eu,
    )
