"""stream_k_gemm → cases: fewer and more programs than tiles, and programs without a share."""

from __future__ import annotations

import dataclasses

from cases.gemm import PRODUCTS, make_loud, measure_product
from harness.case import Array, Case, draw, fill_special_rows, make_generator, stride_rows
from rockiln_kernels.spec import OpSpec

_PROGRAMS = {"aligned": 3, "ragged": 7, "tiny": 4, "strided": 1, "special": 2, "special-ragged": 5}


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """gemm's products, and one of several tiles with many steps."""
    long = dataclasses.replace(PRODUCTS[0], name="long", m=70, k=400)
    cases = []
    for item in (*PRODUCTS, long):
        generator = make_generator(spec.name, cell, item.name)
        a = draw(generator, (item.m, item.k), cell)
        a = make_loud(a) if item.is_loud else a
        b = draw(generator, (item.n, item.k), cell)
        arrays: dict[str, Array] = {"a": fill_special_rows(a) if item.is_special else a, "b": b}
        if item.gap:
            arrays = {name: stride_rows(array, item.gap * (1 + (name == "b"))) for name, array in arrays.items()}
        cases.append(
            Case(
                name=item.name,
                arrays=arrays,
                scalars={"programs": _PROGRAMS.get(item.name, 6)},
                terms=item.k + 1,
                magnitudes={"out": measure_product(arrays["a"], b, None, None)},
                is_misaligned=item.is_misaligned,
            )
        )
    return cases
