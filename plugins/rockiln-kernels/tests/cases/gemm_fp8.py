"""gemm_fp8's families → cases."""

from __future__ import annotations

import numpy as np

from cases.gemm import Product, draw_bias, measure_product
from cases.gemm_mx import place_nans
from harness.case import Array, Case, draw, make_generator, numpy_dtype, stride_rows
from rockiln_kernels.references.gemm_fp8 import scale_inputs
from rockiln_kernels.spec import OpSpec

_PRODUCTS = (
    Product(name="aligned", m=80, n=160, k=272),
    Product(name="ragged", m=37, n=35, k=133, gap=3, is_misaligned=True),
    Product(name="tiny", m=1, n=1, k=1, has_bias=False, is_misaligned=True),
    Product(name="special", m=6, n=16, k=48, has_bias=False, is_special=True),
    Product(name="tall", m=1600, n=16, k=16),
    Product(name="wide", m=40, n=528, k=16, has_bias=False),
    Product(name="loud", m=64, n=64, k=64, is_loud=True),
    Product(name="nans-a", m=192, n=16, k=64, has_bias=False),
    Product(name="nans-b", m=16, n=192, k=64, has_bias=False),
)


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """One scale each for "aligned", else one a row; blocks in the block ops. Special rows have NaN (and infinity)."""
    return [_make_case(spec, cell, item) for item in _PRODUCTS]


def _draw_scales(generator: np.random.Generator, spec: OpSpec, item: Product, rows: int) -> dict[str, Array]:
    blocks = -(-item.k // 128)
    if "_block" in spec.name:
        shapes: tuple[tuple[int, ...], ...] = ((item.m, blocks), (-(-rows // 128), blocks))
    else:
        shapes = ((1,), (1,)) if item.name == "aligned" else ((item.m,), (rows,))
    size = 16.0 if item.is_loud else 1.0
    scales = [(generator.uniform(0.5, 1.5, shape) * size).astype(np.float32) for shape in shapes]
    return dict(zip(("a_scale", "b_scale"), scales, strict=True))


def _make_case(spec: OpSpec, cell: str, item: Product) -> Case:
    generator = make_generator(spec.name, cell, item.name)
    is_pair = spec.name.endswith("_swiglu")
    rows = 2 * item.n if is_pair else item.n
    arrays = {"a": draw(generator, (item.m, item.k), cell), "b": draw(generator, (rows, item.k), cell)}
    if item.is_special:
        arrays["a"][1, 3] = np.array(np.nan).astype(numpy_dtype(cell))
        arrays["a"][2, :] = np.zeros(item.k).astype(numpy_dtype(cell))
        if cell == "e5m2":
            arrays["a"][3, 5] = np.array(np.inf).astype(numpy_dtype(cell))
    if item.name.startswith("nans"):
        place_nans(arrays[item.name[-1]], np.array(np.nan).astype(numpy_dtype(cell)))
    if item.gap:
        arrays = {name: stride_rows(array, item.gap * (1 + (name == "b"))) for name, array in arrays.items()}
    arrays |= _draw_scales(generator, spec, item, rows)
    if item.has_bias:
        arrays["bias"] = draw_bias(generator, rows, "f32", is_loud=item.is_loud)
    interleaved = item.name == "ragged" if is_pair else None
    a, b = scale_inputs(arrays, is_block="_block" in spec.name)
    return Case(
        name=item.name,
        arrays=arrays,
        scalars={} if interleaved is None else {"interleaved": interleaved},
        terms=item.k + 1,
        magnitudes={"out": measure_product(a, b, arrays.get("bias"), interleaved)},
        is_misaligned=item.is_misaligned,
    )
