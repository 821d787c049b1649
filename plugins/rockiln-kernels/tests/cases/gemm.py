"""gemm's family → cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.case import Array, Case, draw, fill_special_rows, make_generator, stride_rows
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


PRODUCTS = (
    Product(name="aligned", m=80, n=96, k=144),
    Product(name="ragged", m=67, n=35, k=73, gap=3, is_misaligned=True),
    Product(name="tiny", m=1, n=1, k=1, has_bias=False, is_misaligned=True),
    Product(name="strided", m=3, n=32, k=80, gap=16, has_bias=False),
    Product(name="special", m=6, n=16, k=48, is_special=True),
    Product(name="special-ragged", m=6, n=7, k=33, is_special=True, is_misaligned=True),
)


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Products of every kind; swiglu in both orders, too."""
    if spec.name == "gemm_swiglu":
        return [_make_case(spec, cell, item, interleaved=order) for item in PRODUCTS for order in (False, True)]
    return [_make_case(spec, cell, item) for item in PRODUCTS]


def _make_case(spec: OpSpec, cell: str, item: Product, *, interleaved: bool | None = None) -> Case:
    generator = make_generator(spec.name, cell, item.name)
    columns = item.n if interleaved is None else 2 * item.n
    a, b = draw(generator, (item.m, item.k), cell), draw(generator, (columns, item.k), cell)
    arrays: dict[str, Array] = {"a": fill_special_rows(a) if item.is_special else a, "b": b}
    if item.gap:
        arrays = {name: stride_rows(array, item.gap) for name, array in arrays.items()}
    if item.has_bias:
        arrays["bias"] = draw(generator, (columns,), cell)
    return Case(
        name=item.name if interleaved is None else f"{item.name}-{'interleaved' if interleaved else 'halves'}",
        arrays=arrays,
        scalars={} if interleaved is None else {"interleaved": interleaved},
        terms=item.k + 1,
        magnitudes={"out": measure_product(arrays["a"], arrays["b"], arrays.get("bias"), interleaved)},
        is_misaligned=item.is_misaligned,
    )


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
    """gfx90a's MFMA takes f16 subnormals as 0: what they add may be missing, as a magnitude for the rule."""
    if a.dtype != np.float16:
        return np.zeros((a.shape[0], b.shape[0]))
    small, wide = np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64))
    small = np.where(small < 2.0**-14, small, 0.0)
    product: Array = small @ wide.T / (2.0**-24 * (16.0 + 4.0 * np.sqrt(a.shape[1])))
    return product
