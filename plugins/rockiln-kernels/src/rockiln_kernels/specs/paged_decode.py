"""paged_decode and paged_decode_fp8 → SPECS: attention of a sequence's newest queries over a KV cache of blocks."""

from __future__ import annotations

from rockiln_kernels.shared_spec import E4M3, HALVES, OFP8_SOURCE
from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec, ScalarSpec

_Q = ArraySpec(name="q", dims=("B", "L", "HQ", "D"), dtype="T")
_TABLES = (
    ArraySpec(name="block_tables", dims=("B", "MB"), dtype="i32"),
    ArraySpec(name="context_lens", dims=("B",), dtype="i32"),
)
_SINKS = ArraySpec(name="sinks", dims=("HQ",), dtype="f32", optional=True)
_SCALES = (
    ArraySpec(name="k_scale", dims=("1",), dtype="f32"),
    ArraySpec(name="v_scale", dims=("1",), dtype="f32"),
)
_OUTPUTS = (
    ArraySpec(name="out", dims=("B", "L", "HQ", "D"), dtype="T"),
    ArraySpec(name="lse", dims=("B", "L", "HQ"), dtype="f32"),
)
_SCALARS = (
    ScalarSpec(name="scale", kind="f32"),
    ScalarSpec(name="window_left", kind="i32", default=-1),
    ScalarSpec(name="splits", kind="i32", default=8),
)
_RULES = (
    Constraint(formula="HK >= 1 and HQ % HK == 0", reason="the heads of q are no multiple of the heads of the cache"),
    Constraint(formula="splits >= 1", reason="splits is not positive"),
    Constraint(formula="BS >= 1", reason="a block of the cache holds no token"),
)
_WORDS = (
    "out = softmax(scale * q k^T) v over the context_lens keys of each sequence, which lie in the cache blocks "
    "that its row of block_tables names; lse = log of the softmax's sum. The L queries are the newest tokens, "
    "and see no later key; with window_left >= 0 at most that many before their own. A sink is a logit of its "
    "own in each sum, lse included, without a value. A query that sees no key gives 0, and lse -inf. Keys are "
    "cut into splits, added up in order by a second kernel: deterministic, and the same for any batch as long as "
    "splits is."
)


def _make_caches(dtype: str) -> tuple[ArraySpec, ...]:
    return tuple(ArraySpec(name=f"{name}_cache", dims=("NB", "BS", "HK", "D"), dtype=dtype) for name in "kv")


SPECS = (
    OpSpec(
        name="paged_decode",
        summary=_WORDS,
        dtype_axes=(HALVES,),
        inputs=(_Q, *_make_caches("T"), *_TABLES, _SINKS),
        outputs=_OUTPUTS,
        scalars=_SCALARS,
        constraints=_RULES,
        source="Kwon et al., https://arxiv.org/abs/2309.06180",
    ),
    OpSpec(
        name="paged_decode_fp8",
        summary=f"The caches hold k / k_scale and v / v_scale in fp8. {_WORDS}",
        dtype_axes=(HALVES, E4M3),
        inputs=(_Q, *_make_caches("Q"), *_TABLES, *_SCALES, _SINKS),
        outputs=_OUTPUTS,
        scalars=_SCALARS,
        constraints=_RULES,
        source=OFP8_SOURCE,
    ),
)
