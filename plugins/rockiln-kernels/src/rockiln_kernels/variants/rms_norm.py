"""rms_norm's family + arch → variants: rows in registers up to 8192 values, and a loop for any length."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.variant import Launch, Variant, number
from rockiln_kernels.variants.rows import row_shapes


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the family for `arch`."""
    spec = read_table()["rms_norm"]
    return tuple(variant for cell in spec.cells for variant in _make_forward(spec, cell, arch))


def _make_forward(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    dtype = spec.cell_dtypes(cell)["T"]
    for shape in row_shapes("rms_norm", arch):
        args = (
            shape.pointer("x", dtype),
            shape.pointer("weight", dtype),
            shape.pointer("y", dtype),
            shape.integer("x_stride"),
            shape.integer("N"),
            number("eps"),
            number("weight_offset"),
        )
        kernel = shape.kernel(source="rms_norm", function=f"rms_norm_{shape.pass_name}", args=args)
        yield Variant(
            op=spec.name,
            cell=cell,
            name=shape.name,
            launches=(Launch(kernel=kernel, grid=("M", "1", "1")),),
            requires=shape.requires,
        )
