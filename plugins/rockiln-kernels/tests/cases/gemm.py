"""gemm's family → cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.case import Array, Case, draw, fill_special_rows, make_generator, make_nan, stride_rows
from rockiln_kernels.spec import OpSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A shape [M, N, K], and what is odd about it; N is the width of the output."""

    name: str
    m: int
    n: int
    k: int
    gap: int = 0
    has_bias: bool = True
    is_special: bool = False
    is_misaligned: bool = False
    is_loud: bool = False
    """Sums in the hundreds, where exp over- and underflows; NaN, one each, in some rows of a and places of bias."""


PRODUCTS = (
    Product(name="aligned", m=80, n=96, k=144),
    Product(name="ragged", m=67, n=35, k=73, gap=3, is_misaligned=True),
    Product(name="tiny", m=1, n=1, k=1, has_bias=False, is_misaligned=True),
    Product(name="strided", m=3, n=32, k=80, gap=16, has_bias=False),
    Product(name="special", m=6, n=16, k=48, is_special=True),
    Product(name="special-ragged", m=6, n=7, k=33, is_special=True, is_misaligned=True),
    Product(name="full", m=144, n=160, k=144),
    Product(name="tall", m=3100, n=16, k=16),
    Product(name="wide", m=40, n=528, k=16, has_bias=False),
    Product(name="loud", m=64, n=64, k=32, is_loud=True),
)
"""tall and wide have three groups of tiles and more, in both ways in which tiles are counted."""


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Products of every kind; swiglu in both orders, too."""
    if spec.name == "gemm_swiglu":
        return [_make_case(spec, cell, item, interleaved=order) for item in PRODUCTS for order in (False, True)]
    return [_make_case(spec, cell, item) for item in PRODUCTS]


def _make_case(spec: OpSpec, cell: str, item: Product, *, interleaved: bool | None = None) -> Case:
    generator = make_generator(spec.name, cell, item.name)
    columns = item.n if interleaved is None else 2 * item.n
    a, b = draw(generator, (item.m, item.k), cell), draw(generator, (columns, item.k), cell)
    a = make_loud(a) if item.is_loud else a
    arrays: dict[str, Array] = {"a": fill_special_rows(a) if item.is_special else a, "b": b}
    if item.gap:
        arrays = {name: stride_rows(array, item.gap * (1 + (name == "b"))) for name, array in arrays.items()}
    if item.has_bias:
        arrays["bias"] = draw_bias(generator, columns, cell, is_loud=item.is_loud)
    return Case(
        name=item.name if interleaved is None else f"{item.name}-{'interleaved' if interleaved else 'halves'}",
        arrays=arrays,
        scalars={} if interleaved is None else {"interleaved": interleaved},
        terms=item.k + 1,
        magnitudes={"out": measure_product(arrays["a"], arrays["b"], arrays.get("bias"), interleaved)},
        is_misaligned=item.is_misaligned,
    )


def make_loud(array: Array) -> Array:
    """Sixteen times as large, and a NaN at one place of every seventh row, another place in each."""
    result = (array.astype(np.float64) * 16.0).astype(array.dtype)
    for row in range(3, len(result), 7):
        result[row, 5 * row % result.shape[1]] = make_nan(array.dtype)
    return result


def draw_bias(generator: np.random.Generator, columns: int, dtype: str, *, is_loud: bool) -> Array:
    """A bias; a loud one has NaN at every seventh place."""
    bias = draw(generator, (columns,), dtype)
    if is_loud:
        bias[2::7] = make_nan(bias.dtype)
    return bias


def measure_product(a: Array, b: Array, bias: Array | None, interleaved: bool | None) -> Array:
    """The magnitudes that are summed: products and bias. No activation is steeper than 1.13, so twice that will do."""
    flushed = _measure_subnormals(a, b)
    a, b = np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64))
    with np.errstate(all="ignore"):
        summed: Array = a @ b.T + flushed + (0.0 if bias is None else np.abs(bias.astype(np.float64)))
        if interleaved is None:
            return 2.0 * summed
        half = summed.shape[1] // 2
        gate, up = (summed[:, 0::2], summed[:, 1::2]) if interleaved else (summed[:, :half], summed[:, half:])
        return 3.0 * gate * up


def _measure_subnormals(a: Array, b: Array) -> Array:
    """gfx90a's MFMA takes f16 subnormals as 0: what theirs adds may be missing, as a magnitude for the rule."""
    if a.dtype != np.float16:
        return np.zeros((a.shape[0], b.shape[0]))
    left, right = np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64))
    small = [np.where(values < 2.0**-14, values, 0.0) for values in (left, right)]
    with np.errstate(all="ignore"):
        product: Array = small[0] @ right.T + left @ small[1].T
    return product / (2.0**-24 * (16.0 + 4.0 * np.sqrt(a.shape[1])))
