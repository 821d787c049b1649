"""Attention → further cases: queries that see nothing beside a sink, many keys in a split, scores far apart, NaN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cases.attention_backward import make_backward_cases
from cases.attention_batch import Batch, draw_batch, make_scalars
from cases.attention_prefill import measure_batch
from harness.case import Array, Case, draw, make_generator
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.spec import OpSpec

WIDTHS = ((64, 64), (80, 80), (128, 128), (192, 128))
_NOTHING = Batch(name="nothing", lengths=((150, 10), (70, 0)), heads=(1, 1), has_sinks=True)
"""Tiles of queries none of which sees a key."""
_LOUD = 128.0
"""What the scale is multiplied with: scores of splits, and the largest of few keys and 0, are further apart than exp's
range."""
_UNBOUNDED = 2.0**1000
"""Magnitudes of an lse of -inf are beyond it."""
_TOKENS, _LATENTS = 32, 16
"""Of caches with NaN: tokens of a sequence, and sequences of latents."""


def derive_attention(spec: OpSpec, cell: str, cases: Sequence[Case]) -> Iterator[Case]:
    """nothing; of caches: sinks, one-split, loud, and of fp8 ones NaN."""
    if spec.name == "attention_prefill_backward":
        yield from make_backward_cases(cell, [_NOTHING], WIDTHS)
    elif spec.name == "attention_prefill":
        yield from (make_prefill_case(spec, cell, _NOTHING, width) for width in WIDTHS)
    elif spec.name.startswith(("paged_decode", "mla_decode")):
        yield from _derive_cached(spec, cell, cases)
        if "Q" in spec.cell_dtypes(cell):
            yield from _derive_nans(spec, cell)


def make_prefill_case(spec: OpSpec, cell: str, batch: Batch, width: tuple[int, int]) -> Case:
    """attention_prefill of a batch of one's own."""
    arrays, scalars = draw_batch(spec.name, cell, batch, width), make_scalars(batch, width)
    out, lse = measure_batch(arrays, scalars, cell)
    sizes = {"out": out, "lse": lse}
    return Case(name=f"{batch.name}-d{width[0]}", arrays=arrays, scalars=scalars, terms=width[0], magnitudes=sizes)


def _derive_cached(spec: OpSpec, cell: str, cases: Sequence[Case]) -> Iterator[Case]:
    for case in cases:
        if case.name.startswith("several") and spec.name.startswith("paged"):
            yield _add_sinks(spec, cell, case)
        if case.name.startswith("many-splits"):
            for splits in (1, 2):
                yield replace(case, name=f"{case.name}-in{splits}", scalars={**case.scalars, "splits": splits})
        if case.name.startswith(("many-splits", "several", "odd")):
            yield _make_loud(spec, cell, case)


def _add_sinks(spec: OpSpec, cell: str, case: Case) -> Case:
    """Several sequences' heads with sinks, which take from the weights of keys and add to lse."""
    sinks = draw(make_generator(spec.name, cell, case.name, "sinks"), case.arrays["q"].shape[2:3], "f32")
    own = case.magnitudes["lse"]
    own = np.where(own < _UNBOUNDED, own, 0.0)  # of a query that sees no key, whose lse is now the sink
    sizes = {**case.magnitudes, "lse": own + 1.0 + np.abs(sinks)}
    return replace(case, name=f"{case.name}-sinks", arrays={**case.arrays, "sinks": sinks}, magnitudes=sizes)


def _make_loud(spec: OpSpec, cell: str, case: Case) -> Case:
    """A larger scale. Magnitudes are bounds for every row: no weight exceeds 1, no score |q| |k|."""
    scale = float(np.float32(float(case.scalars["scale"]) * _LOUD))
    keys, values = ("cache", "cache") if spec.name.startswith("mla") else ("k_cache", "v_cache")
    q, k, v = (_bound(case.arrays, name) for name in ("q", keys, values))
    largest = scale * np.sqrt(np.sum(q * q, axis=-1)).max() * np.sqrt(np.nansum(k * k, axis=-1)).max()
    own = 2.0**-24 * (16.0 + 4.0 * np.sqrt(case.terms))
    rounded = 2.0 ** -(DTYPES[spec.cell_dtypes(cell)["T"]].mantissa_bits + 1) / own
    sizes = {
        "out": np.full(case.magnitudes["out"].shape, np.nanmax(v) * (rounded + 2.0 + 2.0 * largest)),
        "lse": np.full(case.magnitudes["lse"].shape, 1.0 + 2.0 * largest),
    }
    return replace(case, name=f"{case.name}-loud", scalars={**case.scalars, "scale": scale}, magnitudes=sizes)


def _derive_nans(spec: OpSpec, cell: str) -> Iterator[Case]:
    """Every number of a cache's tile is decoded by an instruction of its own: each has a NaN of its own to keep."""
    if spec.name.startswith("mla"):
        yield _make_nans(spec, cell, "cache", (_LATENTS, 1, 1, 576))
        return
    for width in (64, 80, 128):
        yield _make_nans(spec, cell, "k_cache", (2, _TOKENS, 4, width))
        yield _make_nans(spec, cell, "v_cache", (12, 1, 4, width))


def _make_nans(spec: OpSpec, cell: str, name: str, shape: tuple[int, int, int, int]) -> Case:
    """As many queries as tokens, each of which sees its own one, with a NaN in its key; or one query, to which each
    number of the values is NaN in one token, or one number of one key is. lse beside NaN values has magnitudes for the
    largest of scores, and nothing else but NaN is put out."""
    count, queries, heads, width = shape
    dtypes, generator = spec.cell_dtypes(cell), make_generator(spec.name, cell, name, "nans", str(width))
    names, scales = ("cache",), ("cache_scale",)
    if not spec.name.startswith("mla"):
        names, scales = ("k_cache", "v_cache"), ("k_scale", "v_scale")
    stored = (count * 2, _TOKENS // 2, *((heads, width) if len(names) > 1 else (width,)))
    arrays = {item: draw(generator, stored, dtypes["Q"]) for item in names}
    _place_nans(arrays[name].reshape(count, _TOKENS, heads, width), name, is_each=queries > 1)
    arrays["q"] = draw(generator, shape, dtypes["T"])
    arrays["block_tables"] = np.arange(count * 2, dtype=np.int32).reshape(count, 2)
    arrays["context_lens"] = np.full(count, _TOKENS, np.int32)
    arrays |= {item: np.array([0.75], np.float32) for item in scales}
    scalars = {"scale": float(np.float32(width**-0.5)), "splits": 1} | ({"window_left": 0} if queries > 1 else {})
    title = f"nans-{'values' if name == 'v_cache' else 'keys'}-d{width}"
    sizes = {"lse": np.full(shape[:3], 2.0 * width)}
    return Case(name=title, arrays=arrays, scalars=scalars, terms=width, magnitudes=sizes)


def _place_nans(cache: Array, name: str, *, is_each: bool) -> None:
    """In [B, tokens, H, D] of fp8."""
    count, tokens, heads, width = cache.shape
    codes, nan = cache.view(np.uint8), np.array(np.nan).astype(cache.dtype).view(np.uint8)
    for row, head in np.ndindex(count, heads):
        number = row * heads + head
        if name == "v_cache":
            columns = np.arange(width)
            codes[row, (5 * columns + 11 * number) % tokens, head, columns] = nan
        elif is_each:
            places = np.arange(tokens)
            codes[row, places, head, (21 * places + 10 * number) % width] = nan
        else:
            codes[row, 5 * number % tokens, head, 13 * number % width] = nan


def _bound(arrays: Mapping[str, Array], name: str) -> Array:
    """Magnitudes of an array's numbers; a cache's with its scale."""
    size = np.abs(arrays[name].astype(np.float64))
    scale = arrays.get({"cache": "cache_scale"}.get(name, f"{name[0]}_scale")) if "cache" in name else None
    return size if scale is None else size * float(scale[0])
