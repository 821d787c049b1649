"""rms_norm's family + arch → variants: rows in registers up to 8192 values, and a loop for any length."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.fp8 import fp8_constants, fp8_output_dtype
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.variant import Argument, Constant, Kernel, Launch, Variant, Workspace, integer, number, pointer
from rockiln_kernels.variants.rows import RowShape, row_shapes
from rockiln_kernels.wanted_table import fits_arch

_FORWARD = (
    "rms_norm",
    "add_rms_norm",
    "rms_norm_fp8",
    "add_rms_norm_fp8",
    "rms_norm_mxfp4",
    "add_rms_norm_mxfp4",
)
_PROGRAMS = 256
"""Rows of partial sums of dweight at most: enough to fill the largest card, little to add up."""


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the family for `arch`."""
    specs = [read_table()[op] for op in (*_FORWARD, "rms_norm_backward")]
    cells = [(spec, cell) for spec in specs for cell in spec.cells if fits_arch(spec, cell, arch)]
    return tuple(variant for spec, cell in cells for variant in _make_cell(spec, cell, arch))


def _make_cell(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    for shape in row_shapes("rms_norm", arch):
        if spec.name == "rms_norm_backward":
            yield _make_backward(spec, cell, shape)
        else:
            yield _make_forward(spec, cell, arch, shape)


def _make_forward(spec: OpSpec, cell: str, arch: Arch, shape: RowShape) -> Variant:
    name = spec.name.removeprefix("add_")
    kernel = shape.kernel(
        source="rms_norm",
        function=f"{name}_{shape.pass_name}",
        args=_forward_arguments(spec, cell, arch, shape),
        constants=(("HAS_RESIDUAL", spec.name.startswith("add_")), *_fp8_constants(spec, cell, arch)),
    )
    launch = Launch(kernel=kernel, grid=("M", "1", "1"))
    return Variant(op=spec.name, cell=cell, name=shape.name, launches=(launch,), requires=shape.requires)


def _fp8_constants(spec: OpSpec, cell: str, arch: Arch) -> tuple[tuple[str, Constant], ...]:
    dtypes = spec.cell_dtypes(cell)
    return fp8_constants(dtypes["Q"], arch) if "Q" in dtypes else ()


def _forward_arguments(spec: OpSpec, cell: str, arch: Arch, shape: RowShape) -> tuple[Argument, ...]:
    """Without a residual its two arguments name x and the output: the code never touches them."""
    dtype = spec.cell_dtypes(cell)["T"]
    has_residual = spec.name.startswith("add_")
    own = [array.name for array in spec.outputs if array.name != "residual_out"]
    residual = "residual" if has_residual else "x"
    return (
        shape.pointer("x", dtype),
        shape.pointer("residual", dtype, residual),
        shape.pointer("weight", dtype),
        *(_output_argument(spec, cell, arch, shape, name) for name in own),
        shape.pointer("residual_out", dtype, "residual_out" if has_residual else "x"),
        shape.integer("x_stride"),
        shape.integer("residual_stride", f"{residual}_stride"),
        shape.integer("N"),
        number("eps"),
        number("weight_offset"),
    )


def _output_argument(spec: OpSpec, cell: str, arch: Arch, shape: RowShape, name: str) -> Argument:
    dtypes = spec.cell_dtypes(cell)
    array = next(array for array in spec.outputs if array.name == name)
    dtype = dtypes.get(array.dtype, array.dtype)
    if array.dtype == "Q":
        dtype = fp8_output_dtype(dtype, arch)
    return shape.pointer(name, dtype)


def _make_backward(spec: OpSpec, cell: str, shape: RowShape) -> Variant:
    dtype = spec.cell_dtypes(cell)["T"]
    programs = f"min(M, {_PROGRAMS})"
    arrays = [shape.pointer(name, dtype) for name in ("dy", "x", "weight", "dx")]
    numbers = [shape.integer("dy_stride"), shape.integer("x_stride"), integer("M"), shape.integer("N")]
    rows = shape.kernel(
        source="rms_norm",
        function=f"rms_norm_backward_{shape.pass_name}",
        args=(
            *arrays,
            shape.pointer("partial", "f32"),
            *numbers,
            integer("P", programs),
            number("eps"),
            number("weight_offset"),
        ),
    )
    return Variant(
        op=spec.name,
        cell=cell,
        name=shape.name,
        launches=(
            Launch(kernel=rows, grid=(programs, "1", "1")),
            Launch(kernel=_make_sum(dtype, programs), grid=("cdiv(N, BLOCK)", "1", "1")),
        ),
        workspaces=(Workspace(name="partial", dtype="f32", size=f"{programs} * N"),),
        requires=shape.requires,
    )


def _make_sum(dtype: str, programs: str) -> Kernel:
    args = (
        pointer("partial", "f32", divisible_by=4),
        pointer("dweight", dtype, divisible_by=2),
        integer("N"),
        integer("P", programs),
    )
    return Kernel(source="rms_norm", function="sum_partial", args=args, constants=(("BLOCK", 256),))
