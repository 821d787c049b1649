"""The cases of an op → further ones that only an emulator can run, or that are made alike for many ops.

far: rows whose distance times their number exceeds 2^31, and 2^32, in memory that has nothing between them.
peak: the largest number of a row, block or array, which its scale is made of, at another place in each.
infinite: one infinity in each of some rows of a product's operands, near the end of K, so that what is left of it in a
register would make NaN of the zeros behind K.
edges: products that end behind each row and column of a tile in turn, so that no two of a lane's masks are the same.
many: tokens enough that counting them takes several turns of 1024.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from harness.case import Array, Case, draw, make_generator
from rockiln_kernels.spec import OpSpec

ROW_STEP = 0x5000_0000
"""Elements from row to row: twice that is beyond 2^31, four times that beyond 2^32. A multiple of any block."""
_LEAST_ROWS, _MOST_BYTES = 5, 1 << 16
INFINITE = frozenset({"f32", "f16", "bf16", "e5m2"})
"""Types that have infinities."""
_MANY = 2600
"""Choices of experts: two whole turns and a part."""
_ROW_OPS = ("rms_norm", "add_rms_norm", "_and_mul", "rope", "quant_mx", "quant_fp8_token", "quant_fp8_group", "topk_")
"""Whose programs have a row each. Where they have a tile of rows, offsets within it are of 32 bits."""


def derive_cases(spec: OpSpec, cell: str, cases: Sequence[Case]) -> list[Case]:
    """What is added to an op's own cases."""
    own = [*_derive_far(spec, cases), *_derive_peaks(spec, cell)]
    own += [*_derive_infinite(spec, cell, cases), *_derive_many(spec, cases)]
    return [*own, *_derive_edges(spec, cases)]


def list_far_arrays(spec: OpSpec, case: Case) -> tuple[str, ...]:
    """Inputs whose rows may be anywhere and are more than one."""
    named = (array.name for array in spec.inputs if array.layout == "rows")
    return tuple(name for name in named if name in case.arrays and len(case.arrays[name]) > 1)


def _derive_far(spec: OpSpec, cases: Sequence[Case]) -> Iterator[Case]:
    """The smallest aligned case with rows enough, and the smallest misaligned one."""
    for is_misaligned in (False, True):
        able = [case for case in cases if case.is_misaligned == is_misaligned and _is_able(spec, case)]
        if able:
            case = min(able, key=lambda item: sum(array.nbytes for array in item.arrays.values()))
            yield replace(case, name=f"{case.name}-far", row_step=ROW_STEP)


def _is_able(spec: OpSpec, case: Case) -> bool:
    if not any(name in spec.name for name in _ROW_OPS) or spec.name.startswith("dequant"):
        return False
    far = list_far_arrays(spec, case)
    sizes = [case.arrays[name].nbytes for name in far]
    return bool(far) and max(len(case.arrays[name]) for name in far) >= _LEAST_ROWS and max(sizes) <= _MOST_BYTES


def _derive_peaks(spec: OpSpec, cell: str) -> Iterator[Case]:
    """Quantisation of x alone; a scale is of a row or group, of 128 x 128 numbers, or of all."""
    if [array.name for array in spec.inputs] != ["x"] or not spec.name.startswith("quant_"):
        return
    if spec.name == "quant_fp8_tensor":
        yield from (_make_peak(spec, cell, (7, 640), (7, 640), turn) for turn in range(12))
    elif spec.name == "quant_fp8_block":
        yield from (_make_peak(spec, cell, (256, 512), (128, 128), turn) for turn in range(3))
    else:
        block = {"quant_fp8_token": 512, "quant_fp8_group": 128}.get(spec.name, 32)
        yield _make_peak(spec, cell, (40, 512), (1, block), 0)


def _make_peak(spec: OpSpec, cell: str, shape: tuple[int, int], block: tuple[int, int], turn: int) -> Case:
    """Small numbers, and in each block a large one, at a place that the block's number and `turn` pick."""
    dtype = spec.cell_dtypes(cell)["T"]
    generator = make_generator(spec.name, cell, "peak", str(turn))
    x: Array = draw(generator, shape, dtype, size=2.0**-7)
    places = generator.permutation(block[0] * block[1])
    for number, (row, column) in enumerate(np.ndindex(shape[0] // block[0], shape[1] // block[1])):
        down, across = divmod(int(places[number % len(places)]), block[1])
        x[row * block[0] + down, column * block[1] + across] = (-1.0) ** number * (1.5 + number / 8.0)
    return Case(name=f"peak{turn}", arrays={"x": x}, match="bytes")


def _derive_infinite(spec: OpSpec, cell: str, cases: Sequence[Case]) -> Iterator[Case]:
    """From a product whose K is no multiple of its tiles; only for types that have infinities."""
    case, dtypes = _find_aligned(cases), spec.cell_dtypes(cell)
    factors = [array for array in spec.inputs if array.name in ("a", "b")]
    names = [array.name for array in factors if dtypes.get(array.dtype, array.dtype) in INFINITE]
    if case is None or not names or "gemm" not in spec.name:
        return
    arrays = dict(case.arrays)
    for name in names:
        arrays[name] = _place_infinities(arrays[name], step=5 if name == "a" else 7)
    yield replace(case, name="infinite", arrays=arrays)


def _find_aligned(cases: Sequence[Case]) -> Case | None:
    return next((item for item in cases if item.name == "aligned"), None)


def _place_infinities(array: Array, step: int) -> Array:
    """One in every `step`-th row, another place in each; the 32 places before the last whole 16 of K take turns."""
    result, columns = array.copy(), array.shape[1]
    end = columns - columns % 32
    for turn, row in enumerate(range(2, len(result), step)):
        result[row, end - 1 - turn % 32] = np.array(np.inf if turn % 2 else -np.inf).astype(result.dtype)
    return result


def _derive_many(spec: OpSpec, cases: Sequence[Case]) -> Iterator[Case]:
    """A case of experts whose tokens come again and again, each with what it had."""
    case = _find_aligned(cases)
    if case is None or not spec.name.startswith("fused_moe"):
        return
    times = 1 + _MANY // case.arrays["ids"].size
    many = {name: np.tile(case.arrays[name], (times, 1)) for name in ("x", "weights", "ids")}
    sizes = {name: np.tile(size, (times, 1)) for name, size in case.magnitudes.items()}
    yield replace(case, name=f"{case.name}-many", arrays={**case.arrays, **many}, magnitudes=sizes)


def _derive_edges(spec: OpSpec, cases: Sequence[Case]) -> Iterator[Case]:
    """The first rows, columns and 32 of K of an aligned product, whose magnitudes are then larger than need be.

    Products of pairs have other magnitudes, and are left out.
    """
    case = _find_aligned(cases)
    if case is None or "gemm" not in spec.name or spec.name.endswith("_swiglu"):
        return
    for turn in range(1, 33):
        yield _cut_product(case, f"edge{turn}", 48 + turn, 48 + turn)
        if turn % 2:
            yield _cut_product(case, f"edge{turn}-aligned", 48 + turn, 64)


def _cut_product(case: Case, name: str, rows: int, columns: int) -> Case:
    """a, b and their scales and bias, cut; K is a row's share that 32 of it take."""
    arrays = dict(case.arrays)
    for key, count in (("a", rows), ("b", columns)):
        factor, scale = arrays[key], arrays.get(f"{key}_scale")
        width = 16 if _is_halved(factor, scale) else 32
        arrays[key] = np.ascontiguousarray(factor[:count, :width])
        if scale is not None and scale.ndim == 2:
            height = count if len(scale) == len(factor) else -(-count // 128)  # one a row, or one a square
            arrays[f"{key}_scale"] = np.ascontiguousarray(scale[:height, :1])
    if "bias" in arrays:
        arrays["bias"] = arrays["bias"][:columns].copy()
    sizes = {key: size[:rows, :columns] for key, size in case.magnitudes.items()}
    return replace(case, name=name, arrays=arrays, magnitudes=sizes)


def _is_halved(factor: Array, scale: Array | None) -> bool:
    """Whether a byte holds two numbers: MXFP4's, of which a scale is for 16 bytes."""
    return scale is not None and scale.dtype == np.uint8 and factor.shape[1] // scale.shape[1] == 16
