"""An op's products → further ones: infinities before the last tile of K, NaN in one of a pair, edges of tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from harness.case import Array, Case
from rockiln_kernels.spec import OpSpec

INFINITE = frozenset({"f32", "f16", "bf16", "e5m2"})
"""Types that have infinities."""
_WIDEST = 64
"""Columns of the widest tile."""
_SCALES_DIFFER = 9.0
"""What two numbers may be larger by when each gets another square's scale, from 0.5 to 1.5."""


def derive_products(spec: OpSpec, cell: str, cases: Sequence[Case]) -> Iterator[Case]:
    """infinite, nans-first and nans-second, and the edges."""
    if "gemm" not in spec.name:
        return
    yield from _derive_infinite(spec, cell, cases)
    yield from _derive_halves(spec, cases)
    yield from _derive_edges(cases)


def find_aligned(cases: Sequence[Case]) -> Case | None:
    """The case of that name; where there is one for each order of pairs, the first."""
    return next((item for item in cases if item.name in ("aligned", "aligned-halves")), None)


def _derive_infinite(spec: OpSpec, cell: str, cases: Sequence[Case]) -> Iterator[Case]:
    """From a product whose K is no multiple of its tiles; only for types that have infinities."""
    case, dtypes = find_aligned(cases), spec.cell_dtypes(cell)
    factors = [array for array in spec.inputs if array.name in ("a", "b")]
    names = [array.name for array in factors if dtypes.get(array.dtype, array.dtype) in INFINITE]
    if case is None or not names:
        return
    arrays = dict(case.arrays)
    for name in names:
        arrays[name] = _place_infinities(arrays[name], step=5 if name == "a" else 7)
    yield replace(case, name="infinite", arrays=arrays)


def _place_infinities(array: Array, step: int) -> Array:
    """One in every `step`-th row, another place in each; the 32 places before the last whole 16 of K take turns."""
    result, columns = array.copy(), array.shape[1]
    end = columns - columns % 32
    for turn, row in enumerate(range(2, len(result), step)):
        result[row, end - 1 - turn % 32] = np.array(np.inf if turn % 2 else -np.inf).astype(result.dtype)
    return result


def _derive_halves(spec: OpSpec, cases: Sequence[Case]) -> Iterator[Case]:
    """Where each row of b has a NaN, those of the gates alone or of what they are multiplied with."""
    case = next((item for item in cases if item.name == "nans-b"), None)
    if case is None or not spec.name.endswith("_swiglu") or case.scalars["interleaved"]:
        return
    b = case.arrays["b"]
    middle = len(b) // 2
    for name, rows in (("nans-first", slice(middle, None)), ("nans-second", slice(middle))):
        own = b.copy()
        codes = own[rows]
        if own.dtype == np.uint8:
            codes[(codes & 0x7F) == 0x7F] = 0x38
        else:
            codes[np.isnan(codes.astype(np.float32))] = np.array(1.0).astype(own.dtype)
        yield replace(case, name=name, arrays={**case.arrays, "b": own})


def _derive_edges(cases: Sequence[Case]) -> Iterator[Case]:
    """The first rows, columns and 32 of K of an aligned product, whose magnitudes are then larger than need be."""
    case = find_aligned(cases)
    if case is None:
        return
    for size in range(1, _WIDEST + 1):
        yield _cut_product(case, f"edge{size}", size, size)
        if size % 2:
            yield _cut_product(case, f"edge{size}-aligned", size, _WIDEST)


def _cut_product(case: Case, name: str, rows: int, columns: int) -> Case:
    """a, b and their scales and bias, cut; K is a row's share that 32 of it take."""
    arrays, is_pair = dict(case.arrays), "interleaved" in case.scalars
    interleaved = bool(case.scalars.get("interleaved"))
    sizes = {key: size[:rows, :columns] for key, size in case.magnitudes.items()}
    for key, count in (("a", rows), ("b", columns * (1 + is_pair))):
        factor, scale = arrays[key], arrays.get(f"{key}_scale")
        halved = is_pair and key == "b" and not interleaved
        width = 16 if _is_halved(factor, scale) else 32
        arrays[key] = np.ascontiguousarray(_cut_rows(factor, count, is_halves=halved)[:, :width])
        if scale is not None and scale.ndim == 2:
            is_row = len(scale) == len(factor)  # else one a square
            own = _cut_rows(scale, count, is_halves=halved) if is_row else scale[: -(-count // 128)]
            arrays[f"{key}_scale"] = np.ascontiguousarray(own[:, :1])
    if is_pair:
        sizes = {key: size * _SCALES_DIFFER for key, size in sizes.items()}
    if "bias" in arrays:
        bias = _cut_rows(arrays["bias"], columns * (1 + is_pair), is_halves=is_pair and not interleaved)
        arrays["bias"] = np.ascontiguousarray(bias)
    return replace(case, name=name, arrays=arrays, magnitudes=sizes)


def _cut_rows(array: Array, count: int, *, is_halves: bool) -> Array:
    """The first rows, or as many of each half."""
    if not is_halves:
        return array[:count]
    middle = len(array) // 2
    return np.concatenate([array[: count // 2], array[middle : middle + count // 2]])


def _is_halved(factor: Array, scale: Array | None) -> bool:
    """Whether a byte holds two numbers: MXFP4's, of which a scale is for 16 bytes."""
    return scale is not None and scale.dtype == np.uint8 and factor.shape[1] // scale.shape[1] == 16
