"""An op whose cases lack NaN, infinities, negative zeros or strides → a small case again, with what is lacking.

zeros: negative zeros in every input that has none elsewhere. nans-NAME, infinite-NAME: a few NaN, or infinities of both
signs, in one input that has none elsewhere, one input a case, since each may make all that it reaches NaN. limit-nans:
the same beside the limits of a gate, which NaN must pass. strides: in every input that may have them and has none
elsewhere.

What no query sees of a cache does not count. Magnitudes are twice those without special values: a key whose score has
become -inf, or another by its zeros, leaves the rest of a row no more than that. Scales of fp8 get no infinities:
kernels multiply sums with them, the references each number, which gives inf or NaN as the sum's signs are. Of the
gradient of attention, lse is never -inf for a query that sees keys, which says that it saw none, nor zero, which would
make other weights; and infinities stand in keys only where queries fill their tiles: 0 in a row behind the last query
times an infinite key is NaN, which reaches that key's dk and dv.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cases.attention_backward import make_backward_cases
from cases.attention_batch import Batch
from cases.fused_moe import measure_mixture
from harness.case import Array, Case, make_nan, stride_rows
from harness.derived_attention import WIDTHS, make_prefill_case
from harness.derived_products import INFINITE
from rockiln_kernels.references.arrays import widen
from rockiln_kernels.references.fused_moe_narrow import widen_experts
from rockiln_kernels.references.paged_decode import gather_tokens
from rockiln_kernels.spec import OpSpec

KINDS = ("zeros", "nans", "infinite")
SCALE_NAN = 255
"""Of e8m0."""
_WHOLE = frozenset({"u8", "i32", "i64"})
_WITHOUT_ZERO = frozenset({"e4m3fnuz", "e5m2fnuz"})
"""fp8 whose code of a negative zero is NaN."""
_LEAST_ROWS, _LEAST_TOKENS = 5, 16
"""Of the first input, and of caches: some are to stay finite."""
_GAP, _ZEROS_STEP = 16, 5
_SEEN = Batch(name="seen", lengths=((6, 9),), heads=(4, 2), has_sinks=True)
"""One tile of queries and one of keys, where kernels and the reference agree on which hidden values show."""
_FULL = Batch(name="full", lengths=((64, 9),), heads=(4, 2), causal=False)
"""Whole tiles of queries."""

Kinds = Mapping[str, frozenset[str]]
"""Input → KINDS."""


def derive_specials(spec: OpSpec, cell: str, cases: Sequence[Case]) -> Iterator[Case]:
    """Of an op that lacks a kind altogether, or strides of an input; `cases` are all its others."""
    lacking, unstrided = list_lacking(spec, cell, cases), list_unstrided(spec, cases)
    is_planted = bool(list_missing(spec, cell, lacking))
    if not is_planted and not unstrided:
        return
    for base in _make_bases(spec, cell, cases):
        if is_planted:
            yield from _plant_kinds(spec, base, lacking)
        if own := [name for name in unstrided if name in base.arrays]:
            fresh = {name: stride_rows(base.arrays[name], _GAP * turn) for turn, name in enumerate(own, 1)}
            yield replace(base, name=f"{base.name}-strides", arrays={**base.arrays, **fresh})


def list_able(spec: OpSpec, cell: str) -> Kinds:
    """What each input's type can hold; of packed codes nothing, of e8m0 scales NaN."""
    dtypes, able = spec.cell_dtypes(cell), {}
    for array in spec.inputs:
        dtype = dtypes.get(array.dtype, array.dtype)
        if dtype in _WHOLE:
            able[array.name] = frozenset({"nans"} if dtype == "u8" and array.name.endswith("_scale") else ())
        else:
            has = {"zeros": dtype not in _WITHOUT_ZERO, "nans": True, "infinite": dtype in INFINITE}
            able[array.name] = frozenset(kind for kind in KINDS if has[kind])
    return able


def list_lacking(spec: OpSpec, cell: str, cases: Sequence[Case]) -> Kinds:
    """What each input could hold and holds in no case."""
    found = {
        name: {kind for case in cases if name in case.arrays for kind in _find_kinds(case, name)} if able else set()
        for name, able in list_able(spec, cell).items()
    }
    return {name: able - found[name] for name, able in list_able(spec, cell).items()}


def list_missing(spec: OpSpec, cell: str, lacking: Kinds) -> frozenset[str]:
    """Kinds that some inputs of the op could hold and that all that could lack."""
    able = list_able(spec, cell)
    held = {kind for name in able for kind in able[name] - lacking[name]}
    return frozenset(kind for kinds in able.values() for kind in kinds) - held


def list_unstrided(spec: OpSpec, cases: Sequence[Case]) -> list[str]:
    """Inputs that may have any stride between rows, and are contiguous in every case."""
    named = [array.name for array in spec.inputs if array.layout == "rows"]
    strided = {name for name in named for case in cases if name in case.arrays and _is_strided(case.arrays[name])}
    return [name for name in named if name not in strided]


def _is_strided(array: Array) -> bool:
    return len(array) > 1 and array.strides[0] != array[0].nbytes


def _find_kinds(case: Case, name: str) -> set[str]:
    """KINDS that an array holds, of a cache in what is seen."""
    array = case.arrays[name]
    if array.dtype == np.uint8:
        return {"nans"} if name.endswith("_scale") and (array == SCALE_NAN).any() else set()
    if name.endswith("cache"):
        array = _gather(case, name)
    values = array.astype(np.float32)
    found = {"nans": np.isnan(values), "infinite": np.isinf(values), "zeros": (values == 0.0) & np.signbit(values)}
    return {kind for kind, is_such in found.items() if is_such.any()}


def _gather(case: Case, name: str) -> Array:
    """The tokens of every sequence's cache, one behind the other."""
    pairs = zip(case.arrays["block_tables"], case.arrays["context_lens"].tolist(), strict=True)
    return np.concatenate([gather_tokens(case.arrays[name], table, count) for table, count in pairs])


def _make_bases(spec: OpSpec, cell: str, cases: Sequence[Case]) -> list[Case]:
    """Small cases without special values, with as many inputs as there are; of attention one for each width."""
    if spec.name == "attention_prefill_backward":
        return make_backward_cases(cell, [_SEEN, _FULL], WIDTHS)
    if spec.name == "attention_prefill":
        return [make_prefill_case(spec, cell, _SEEN, width) for width in WIDTHS]
    able = [case for case in cases if _is_plain(case)]
    widths = sorted({_find_width(case) for case in able})
    groups = [[case for case in able if _find_width(case) == width] for width in widths]
    chosen = [min(group, key=lambda case: (-len(case.arrays), _count_bytes(case))) for group in groups]
    if not spec.name.startswith("fused_moe"):
        return chosen
    return [replace(case, name=f"{case.name}-limit") for case in chosen] + [_drop_limits(case) for case in chosen]


def _is_plain(case: Case) -> bool:
    """Finite, aligned, without a window, and not too small."""
    if case.is_misaligned or case.row_step or case.scalars.get("window_left", -1) >= 0:
        return False
    if any({"nans", "infinite"} & _find_kinds(case, name) for name in case.arrays):
        return False
    first = next(iter(case.arrays.values()))
    is_large = len(first) > 1 and np.prod(first.shape[:-1]) >= _LEAST_ROWS
    tokens = case.arrays.get("context_lens", np.full(1, _LEAST_TOKENS)).sum()
    is_finite = all(np.isfinite(own).all() for own in case.magnitudes.values())
    return bool(is_large and is_finite and tokens >= _LEAST_TOKENS)


def _find_width(case: Case) -> int:
    """Of heads, for which there are variants; 0 of what has none."""
    return int(case.arrays["q"].shape[-1]) if "q" in case.arrays else 0


def _count_bytes(case: Case) -> int:
    return sum(array.nbytes for array in case.arrays.values())


def _drop_limits(case: Case) -> Case:
    """A mixture of experts with biases and without limits: an infinite gate is not cut."""
    arrays = dict(case.arrays)
    is_narrow = "gate_up_scale" in arrays
    widths = {key: widen_experts(arrays, key) if is_narrow else widen(arrays[key]) for key in ("gate_up", "down")}
    dtype = "f16" if arrays["x"].dtype == np.float16 else "bf16"
    return replace(case, scalars={}, magnitudes={"out": measure_mixture(arrays, {}, dtype, **widths)})


def _plant_kinds(spec: OpSpec, base: Case, lacking: Kinds) -> Iterator[Case]:
    """zeros, nans-NAME and infinite-NAME."""
    sizes = {name: size * 2.0 for name, size in base.magnitudes.items()}
    for kind in KINDS:
        names = [name for name in base.arrays if kind in lacking[name] and _is_fit(spec, base, name, kind)]
        groups = {f"{kind}-{name}": [name] for name in names}
        if kind == "zeros" and names:
            groups = {kind: names}
        for title, own in groups.items():
            arrays = {**base.arrays, **{name: _plant(base, name, kind) for name in own}}
            yield replace(base, name=f"{base.name}-{title}", arrays=arrays, magnitudes=sizes)


def _is_fit(spec: OpSpec, base: Case, name: str, kind: str) -> bool:
    """What is left out for the reasons above; beside a limit, which makes large numbers of infinities, NaN alone."""
    is_full = base.name.startswith(_FULL.name)
    if spec.name == "attention_prefill_backward" and is_full != (kind == "infinite" and name == "k"):
        return False
    if kind == "nans":
        return True
    is_left_out = name.endswith("_scale") if kind == "infinite" else name == "lse"
    return not is_left_out and not base.scalars.get("limit")


def _plant(base: Case, name: str, kind: str) -> Array:
    """Two places of the row two thirds down; an infinity of the other sign in two of the one a third down, too.

    Of a product's bias in halves, gates alone: f32 has 0 for the silu of -200, which an infinite other half makes NaN.
    """
    result = np.ascontiguousarray(base.arrays[name]).copy()
    if name.endswith("cache"):
        rows = [result[place] for place in _list_tokens(base, result.shape[1])]
    else:
        is_gated = name == "bias" and kind == "infinite" and "interleaved" in base.scalars
        rows = [result[place : place + 1] for place in range(len(result) // (1 + is_gated))]
    deep, high = rows[len(rows) * 2 // 3].reshape(-1), rows[len(rows) // 3].reshape(-1)
    places = [deep.size * 3 // 7, deep.size * 6 // 7]
    if kind == "zeros":
        deep[::_ZEROS_STEP] = high[2::_ZEROS_STEP] = np.array(-0.0).astype(result.dtype)
    elif kind == "nans":
        deep[places] = SCALE_NAN if result.dtype == np.uint8 else make_nan(result.dtype)
    else:
        high[places] = np.array(np.inf if name == "lse" else -np.inf).astype(result.dtype)
        deep[places] = np.array(np.inf).astype(result.dtype)
    return result


def _list_tokens(case: Case, size: int) -> list[tuple[int, int]]:
    """Where the first sequence's tokens lie in a cache of blocks."""
    count, table = int(case.arrays["context_lens"][0]), case.arrays["block_tables"][0]
    return [(int(table[token // size]), token % size) for token in range(count)]
