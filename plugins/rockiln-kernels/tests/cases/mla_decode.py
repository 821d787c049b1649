"""mla_decode and mla_decode_fp8 → cases: heads and queries of any number; what no sequence uses of the cache is NaN."""

from __future__ import annotations

import numpy as np

from cases.attention_terms import measure_attention
from cases.paged_decode import lay_out
from harness.case import Array, Case, draw, make_generator, numpy_dtype
from rockiln_kernels.references.attention import see_keys
from rockiln_kernels.references.paged_decode import gather_tokens
from rockiln_kernels.spec import OpSpec

_SHAPES = (
    ("sixteen", (40, 3), 1, 16, 16, 2),
    ("odd", (21,), 3, 7, 1, 3),
    ("empty", (0, 2), 2, 1, 4, 2),
    ("many-splits", (70, 5), 1, 5, 8, 7),
)
"""name, lengths, queries, heads, block size, splits."""


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Every shape."""
    return [_make_case(spec, cell, *shape) for shape in _SHAPES]


def _make_case(spec: OpSpec, cell: str, name: str, lengths: tuple[int, ...], *sizes: int) -> Case:
    queries, heads, block_size, splits = sizes
    dtypes = spec.cell_dtypes(cell)
    generator = make_generator(spec.name, cell, name)
    stored = dtypes.get("Q", dtypes["T"])
    tables, filled = lay_out(generator, lengths, block_size)
    cache = draw(generator, (*filled.shape, 576), stored)
    cache[~filled] = np.array(np.nan).astype(numpy_dtype(stored))
    arrays: dict[str, Array] = {
        "q": draw(generator, (len(lengths), queries, heads, 576), dtypes["T"]),
        "cache": cache,
        "block_tables": tables,
        "context_lens": np.array(lengths, np.int32),
    }
    if "Q" in dtypes:
        arrays["cache_scale"] = np.array([0.75], np.float32)
    scale = float(np.float32(192**-0.5)) / 2.0
    out, lse = _measure(arrays, scale, dtypes["T"])
    return Case(
        name=name,
        arrays=arrays,
        scalars={"scale": scale, "splits": splits},
        terms=576,
        magnitudes={"out": out, "lse": lse},
    )


def _measure(arrays: dict[str, Array], scale: float, dtype: str) -> tuple[Array, Array]:
    """Magnitudes of out and lse."""
    q = arrays["q"].astype(np.float64)
    out, lse = np.zeros((*q.shape[:3], 512)), np.zeros(q.shape[:3])
    stored = float(arrays["cache_scale"][0]) if "cache_scale" in arrays else 1.0
    for place, count in enumerate(arrays["context_lens"].tolist()):
        own = gather_tokens(arrays["cache"], arrays["block_tables"][place], count).astype(np.float64) * stored
        seen = see_keys(q.shape[1], count, is_causal=True, window_left=-1)
        for head in range(q.shape[2]):
            sizes = measure_attention(q[place, :, head], own, own[:, :512], scale, seen, dtype, None)
            out[place, :, head], lse[place, :, head] = sizes
    return out, lse
