"""The cases of an op → further ones that only an emulator can run, or that are made alike for many ops.

far: rows whose distance times their number exceeds 2^31, and 2^32, in memory that has nothing between them.
peak: the largest number of a row, block or array, which its scale is made of, at another place in each.
offset, length: rms_norm's long rows with an offset of the weight, and rows of other lengths.
groups: as many groups of experts as a gating op takes.
heads: rope of more heads than a program takes, as many pairs as a row of its tile, and a rest of several turns.

derived_products.py: infinite: one infinity in each of some rows of a product, near the end of K, so that what
is left of it in a register would make NaN of the zeros behind K; nans-first, nans-second: NaN in one of a pair alone;
edge: products that end behind each row and column of a tile in turn, so that no two of a lane's masks are the same.
derived_experts.py: many: tokens enough that counting them takes several turns of 1024; crowd: more experts than lanes;
counts: experts with one token, with two, and so on; steep: gates whose exp is infinite.
derived_attention.py: nothing: tiles of queries that see no key, beside a sink; of caches, sinks over several sequences,
more keys in a split, and loud: scores further apart than exp's range; of fp8 caches, nans-keys and nans-values: NaN in
another place for each head of each sequence, and for each number of a head.
derived_brink.py: brink: results beside the middles of neighbouring codes of fp8 and fp4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from harness.case import Array, Case, draw, make_generator
from harness.derived_attention import derive_attention
from harness.derived_brink import derive_brink
from harness.derived_experts import derive_experts
from harness.derived_products import derive_products
from rockiln_kernels.spec import OpSpec

ROW_STEP = 0x5000_0000
"""Elements from row to row: twice that is beyond 2^31, four times that beyond 2^32. A multiple of any block."""
_LEAST_ROWS, _MOST_BYTES = 5, 1 << 16
_LENGTHS = (96, 160, 224, 352, 416, 608, 736, 992)
"""Of rows: multiples of 32, for MX blocks."""
_HEADS = ((32, 20), (64, 12), (128, 6))
"""Pairs, and heads that fill one program of a tile of so many pairs and a part of another one."""
_ROW_OPS = ("rms_norm", "add_rms_norm", "_and_mul", "rope", "quant_mx", "quant_fp8", "topk_")
"""Whose programs have a row each. Where they have a tile of rows, offsets within it are of 32 bits."""


def derive_cases(spec: OpSpec, cell: str, cases: Sequence[Case]) -> list[Case]:
    """What is added to an op's own cases."""
    own = [*_derive_far(spec, cases), *_derive_peaks(spec, cell), *_derive_rows(spec, cases), *derive_brink(spec, cell)]
    own += [*derive_products(spec, cell, cases), *derive_experts(spec, cell, cases)]
    return [*own, *derive_attention(spec, cell, cases), *_derive_groups(spec, cell), *_derive_heads(spec, cell)]


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


def _derive_rows(spec: OpSpec, cases: Sequence[Case]) -> Iterator[Case]:
    """rms_norm's long rows with an offset of the weight, and rows of lengths whose inverses have other low bits.

    Not of its gradient, whose magnitudes depend on both.
    """
    if "rms_norm" not in spec.name or spec.name.endswith("_backward"):
        return
    for case in cases:
        if case.name.startswith("long"):
            yield replace(case, name=f"offset{case.name[4:]}", scalars={"weight_offset": 1.0, "eps": 1e-5})
    case = next(item for item in cases if item.name == "long1008")
    for columns in _LENGTHS:
        arrays = {name: _cut_columns(array, columns) for name, array in case.arrays.items()}
        yield replace(case, name=f"length{columns}", arrays=arrays, terms=columns)


def _cut_columns(array: Array, columns: int) -> Array:
    """The first numbers of two rows, or of a weight."""
    return np.ascontiguousarray(array[:2, :columns] if array.ndim == 2 else array[:columns])


def _derive_groups(spec: OpSpec, cell: str) -> Iterator[Case]:
    """As many groups of experts as there may be."""
    if spec.name != "topk_sigmoid":
        return
    for experts in (64, 640, 1024):
        generator = make_generator(spec.name, cell, "groups", str(experts))
        arrays = {"logits": draw(generator, (3, experts), cell), "bias": draw(generator, (experts,), "f32", size=0.2)}
        scalars = {"top": 6, "renormalise": True, "scaling": 1.0, "groups": 32, "keep": 5}
        yield Case(name=f"groups{experts}", arrays=arrays, scalars=scalars, terms=experts)


def _derive_heads(spec: OpSpec, cell: str) -> Iterator[Case]:
    """One token; behind the pairs of a head there are two and a half times as many numbers that stay as they are."""
    if not spec.name.startswith("rope"):
        return
    for pairs, heads in _HEADS:
        generator = make_generator(spec.name, cell, "heads", str(pairs))
        x = draw(generator, (1, heads, pairs * 9 // 2), cell)
        angles = generator.uniform(0.0, 6.3, (3, pairs))
        arrays = {
            spec.inputs[0].name: x,
            "cos": np.cos(angles).astype(np.float32),
            "positions": np.array([2], np.int32),
        }
        arrays["sin"] = np.sin(angles).astype(np.float32)
        sizes = np.abs(x.astype(np.float64)).max(axis=-1, keepdims=True)
        whole = {spec.outputs[0].name: np.broadcast_to(sizes, x.shape)}
        for order in (False, True):
            name = f"heads{heads}-{'interleaved' if order else 'halves'}"
            scalars = {"interleaved": order}
            yield Case(name=name, arrays=arrays, scalars=scalars, terms=2, magnitudes=whole)
