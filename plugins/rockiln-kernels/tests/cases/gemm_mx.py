"""gemm_mx's families → cases: codes of every kind, scales around 1, NaN scales in "special", NaN codes in "loud"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cases.gemm import Product, draw_bias, make_loud, measure_product
from harness.case import Array, Case, draw, make_generator, stride_rows
from rockiln_kernels.references.gemm_mx import decode_inputs
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.specs.gemm_mx import FORMATS

_PRODUCTS = (
    Product(name="aligned", m=80, n=96, k=160),
    Product(name="ragged", m=37, n=35, k=96, gap=3, is_misaligned=True),
    Product(name="tiny", m=1, n=1, k=32, has_bias=False, is_misaligned=True),
    Product(name="special", m=6, n=16, k=64, has_bias=False, is_special=True),
    Product(name="tall", m=1600, n=16, k=32),
    Product(name="wide", m=40, n=528, k=32, has_bias=False),
    Product(name="loud", m=64, n=96, k=96, is_loud=True),
    Product(name="nans-a", m=192, n=16, k=64, has_bias=False),
    Product(name="nans-b", m=16, n=192, k=64, has_bias=False),
)
_PACKED = {"e2m1": 2, "e4m3": 1}


def make_cases(spec: OpSpec, _cell: str) -> list[Case]:
    """Products of every kind."""
    return [_make_case(spec, item) for item in _PRODUCTS]


def _find_base(op: str) -> str:
    return max((base for base in FORMATS if op.startswith(base)), key=len)


def _draw_codes(generator: np.random.Generator, rows: int, k: int, form: str) -> tuple[Array, Array]:
    """Every e2m1 code; e4m3 without its NaN. Scales from 2^-4 to 2^3."""
    codes = generator.integers(0, 256, (rows, k // _PACKED[form])).astype(np.uint8)
    if form == "e4m3":
        codes = np.where((codes & 0x7F) == 0x7F, np.uint8(0x38), codes)
    return codes, generator.integers(123, 131, (rows, k // 32)).astype(np.uint8)


def _draw_inputs(spec: OpSpec, item: Product, rows: int, forms: tuple[str, str]) -> dict[str, Array]:
    generator = make_generator(spec.name, item.name)
    arrays: dict[str, Array] = {}
    if forms[0] == "bf16":
        arrays["a"] = draw(generator, (item.m, item.k), "bf16")
    else:
        arrays["a"], arrays["a_scale"] = _draw_codes(generator, item.m, item.k, forms[0])
    arrays["b"], arrays["b_scale"] = _draw_codes(generator, rows, item.k, forms[1])
    if item.is_loud:
        _make_loud(arrays, forms)
    if item.name.startswith("nans") and forms["ab".index(item.name[-1])] == "e4m3":
        place_nans(arrays[item.name[-1]], np.uint8(0x7F))
    if item.is_special:
        arrays["b_scale"][1, 0], arrays["b_scale"][2, 1] = 255, 0
    if item.gap:
        arrays |= {name: stride_rows(arrays[name], item.gap * (1 + (name == "b"))) for name in ("a", "b")}
    if item.has_bias:
        arrays["bias"] = draw_bias(generator, rows, "f32", is_loud=item.is_loud)
    return arrays


def place_nans(codes: Array, nan: Any) -> None:
    """A NaN at one place of each row, another place in each: its row of outputs is NaN for it alone."""
    for row in range(len(codes)):
        codes[row, (37 * row + row // 8) % codes.shape[1]] = nan


def _make_loud(arrays: dict[str, Array], forms: tuple[str, str]) -> None:
    """Larger a, and a NaN code or scale at one place of some rows."""
    if forms[0] == "bf16":
        arrays["a"] = make_loud(arrays["a"])
    for name, form, step in (("a", forms[0], 3), ("b", forms[1], 5)):
        if form == "e2m1":
            arrays[f"{name}_scale"][step::17, 0], arrays[f"{name}_scale"][step + 4 :: 19, 1] = 255, 255


def _make_case(spec: OpSpec, item: Product) -> Case:
    base, is_pair = _find_base(spec.name), spec.name.endswith("_swiglu")
    arrays = _draw_inputs(spec, item, 2 * item.n if is_pair else item.n, FORMATS[base])
    interleaved = item.name == "ragged" if is_pair else None
    scalars: Mapping[str, bool] = {} if interleaved is None else {"interleaved": interleaved}
    return Case(
        name=item.name,
        arrays=arrays,
        scalars=scalars,
        terms=item.k + 1,
        magnitudes={"out": measure_product(*decode_inputs(base, arrays), arrays.get("bias"), interleaved)},
        is_misaligned=item.is_misaligned,
    )
