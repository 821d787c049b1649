"""paged_decode and paged_decode_fp8 → cases: what no sequence uses of the cache is NaN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cases.attention_terms import measure_attention
from harness.case import Array, Case, draw, make_generator, numpy_dtype
from rockiln_kernels.references.attention import see_keys
from rockiln_kernels.references.paged_decode import gather_tokens
from rockiln_kernels.spec import OpSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """Lengths of the sequences, and how their queries and cache are laid out."""

    name: str
    lengths: tuple[int, ...]
    queries: int
    heads: tuple[int, int]
    block_size: int
    splits: int
    window_left: int = -1
    has_sinks: bool = False
    is_special: bool = False


_CACHES = (
    Cached(name="grouped", lengths=(70, 3, 0), queries=1, heads=(4, 1), block_size=16, splits=3),
    Cached(name="several", lengths=(40, 2), queries=3, heads=(12, 2), block_size=7, splits=2),
    Cached(
        name="window-sinks",
        lengths=(81,),
        queries=2,
        heads=(2, 2),
        block_size=1,
        splits=2,
        window_left=9,
        has_sinks=True,
    ),
    Cached(name="special", lengths=(20, 33), queries=1, heads=(2, 1), block_size=8, splits=1, is_special=True),
    Cached(name="nans", lengths=(16,) * 24, queries=1, heads=(1, 1), block_size=16, splits=1),
    Cached(name="many-splits", lengths=(150, 33, 9), queries=1, heads=(10, 5), block_size=4, splits=9),
)


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Every cache in every width of heads."""
    return [_make_case(spec, cell, item, width) for item in _CACHES for width in (64, 80, 128)]


def _make_case(spec: OpSpec, cell: str, item: Cached, width: int) -> Case:
    dtypes = spec.cell_dtypes(cell)
    generator = make_generator(spec.name, cell, item.name, str(width))
    arrays = {"q": draw(generator, (len(item.lengths), item.queries, item.heads[0], width), dtypes["T"])}
    stored = dtypes.get("Q", dtypes["T"])
    tables, filled = lay_out(generator, item.lengths, item.block_size)
    for name in ("k_cache", "v_cache"):
        cache = draw(generator, (*filled.shape, item.heads[1], width), stored)
        cache[~filled] = np.array(np.nan).astype(numpy_dtype(stored))
        arrays[name] = cache
    if item.is_special or item.name == "nans":
        _place_nans(item, arrays, tables, np.array(np.nan).astype(numpy_dtype(stored)))
    arrays |= {"block_tables": tables, "context_lens": np.array(item.lengths, np.int32)}
    if "Q" in dtypes:
        arrays |= {name: np.array([value], np.float32) for name, value in (("k_scale", 0.75), ("v_scale", 1.5))}
    if item.has_sinks:
        arrays["sinks"] = draw(generator, item.heads[:1], "f32")
    scalars = {
        "scale": float(np.float32(width**-0.5)),
        "window_left": item.window_left,
        "splits": item.splits,
    }
    out, lse = _measure(arrays, scalars, dtypes["T"])
    return Case(
        name=f"{item.name}-d{width}",
        arrays=arrays,
        scalars=scalars,
        terms=width,
        magnitudes={"out": out, "lse": lse},
    )


def _place_nans(item: Cached, arrays: dict[str, Array], tables: Array, nan: Any) -> None:
    """In "special", one in q and some in the values of one sequence; in "nans", one in the keys of each sequence."""
    width = arrays["q"].shape[-1]
    if item.name == "nans":
        for row in range(len(tables)):
            arrays["k_cache"][tables[row, 0], 5 * row % item.block_size, 0, 13 * row % width] = nan
        return
    arrays["q"][0, 0, 1, 3] = np.nan
    for column in range(0, width, 3):
        arrays["v_cache"][tables[1, column % 4], column % 8, 0, column] = nan


def lay_out(generator: np.random.Generator, lengths: tuple[int, ...], size: int) -> tuple[Array, Array]:
    """(block tables [B, MB], bool [NB, BS]: whether a place of the cache holds a token), blocks in random order."""
    counts = [-(-length // size) for length in lengths]
    blocks = generator.permutation(sum(counts) + 2).astype(np.int32)
    tables = np.full((len(lengths), max(*counts, 1) if len(counts) > 1 else counts[0]), -1, np.int32)
    filled = np.zeros((len(blocks), size), bool)
    first = 0
    for row, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        tables[row, :count] = blocks[first : first + count]
        place = np.arange(length)
        filled[tables[row, place // size], place % size] = True
        first += count
    return tables, filled


def _measure(arrays: dict[str, Array], scalars: dict[str, float], dtype: str) -> tuple[Array, Array]:
    """Magnitudes of out and lse."""
    q = arrays["q"].astype(np.float64)
    out, lse = np.zeros(q.shape), np.zeros(q.shape[:3])
    scales = [float(arrays[name][0]) if name in arrays else 1.0 for name in ("k_scale", "v_scale")]
    for place, count in enumerate(arrays["context_lens"].tolist()):
        own = [gather_tokens(arrays[name], arrays["block_tables"][place], count) for name in ("k_cache", "v_cache")]
        k, v = (tokens.astype(np.float64) * scale for tokens, scale in zip(own, scales, strict=True))
        seen = see_keys(q.shape[1], count, is_causal=True, window_left=int(scalars["window_left"]))
        for head in range(q.shape[2]):
            kv = (item[:, head * k.shape[1] // q.shape[2]] for item in (k, v))
            sink = float(arrays["sinks"][head]) if "sinks" in arrays else None
            sizes = measure_attention(q[place, :, head], *kv, scalars["scale"], seen, dtype, sink)
            out[place, :, head], lse[place, :, head] = sizes
    return out, lse
