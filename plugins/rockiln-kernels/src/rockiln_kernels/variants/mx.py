"""An MX format's quant and dequant + arch → variants: one program a row and a block of columns."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.variant import Constant, Launch, Variant
from rockiln_kernels.variants.rows import RowShape, block_shapes

_BIASES = {"e2m1": 1, "e2m3": 1, "e3m2": 3, "e4m3": 7, "e5m2": 15}
_TOPS = {"e2m1": 2, "e2m3": 2, "e3m2": 4, "e4m3": 8, "e5m2": 15}
"""The exponent of a format's largest number."""


def make_mx_variants(name: str, default: str, arch: Arch) -> tuple[Variant, ...]:
    """Every variant of quant_NAME and dequant_NAME; `default` is the element format where there is one."""
    specs = (read_table()[f"quant_{name}"], read_table()[f"dequant_{name}"])
    return tuple(
        _make_variant(spec, cell, default, shape)
        for spec in specs
        for cell in spec.cells
        for shape in block_shapes("quant_mx", arch)
    )


def _make_variant(spec: OpSpec, cell: str, default: str, shape: RowShape) -> Variant:
    dtypes = spec.cell_dtypes(cell)
    is_quant = spec.name.startswith("quant_")
    length = "N" if is_quant else "G * 32"
    args = [shape.pointer(array.name, _pointer_dtype(array.dtype, dtypes)) for array in spec.arrays]
    args += [shape.integer("x_stride")] if is_quant else []
    kernel = shape.kernel(
        source=f"quant_{spec.name.rpartition('_')[2]}",
        function=spec.name,
        args=(*args, shape.integer("N", length)),
        constants=tuple(_constants(spec.name, dtypes.get("E", default))),
        kernel_class="pointwise",
    )
    launch = Launch(kernel=kernel, grid=("M", f"cdiv({length}, BLOCK)", "1"))
    return Variant(op=spec.name, cell=cell, name=shape.name, launches=(launch,))


def _pointer_dtype(dtype: str, dtypes: dict[str, str]) -> str:
    """Elements are computed as bytes on every arch, so that all give the same."""
    return "u8" if dtype == "E" else dtypes.get(dtype, dtype)


def _constants(op: str, form: str) -> Iterator[tuple[str, Constant]]:
    if op.endswith("mxfp4"):
        return
    yield "MAN", DTYPES[form].mantissa_bits
    yield "BIAS", _BIASES[form]
    if op.startswith("quant_"):
        yield "TOP", _TOPS[form]
        yield "LIMIT", DTYPES[form].maximum


