"""mla_decode and mla_decode_fp8 → SPECS: multi-head latent attention over a cache of latents."""

from __future__ import annotations

from rockiln_kernels.shared_spec import E4M3, HALVES
from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec, ScalarSpec

LATENT, ROTARY = 512, 64
"""Columns of a cached token: its latent, which is also the value, and the rotary part of its key."""

_Q = ArraySpec(name="q", dims=("B", "L", "H", "W"), dtype="T")
_TABLES = (
    ArraySpec(name="block_tables", dims=("B", "MB"), dtype="i32"),
    ArraySpec(name="context_lens", dims=("B",), dtype="i32"),
)
_SCALE = ArraySpec(name="cache_scale", dims=("1",), dtype="f32")
_OUTPUTS = (
    ArraySpec(name="out", dims=("B", "L", "H", f"{LATENT}"), dtype="T"),
    ArraySpec(name="lse", dims=("B", "L", "H"), dtype="f32"),
)
_SCALARS = (ScalarSpec(name="scale", kind="f32"), ScalarSpec(name="splits", kind="i32", default=8))
_RULES = (
    Constraint(formula=f"W == {LATENT + ROTARY}", reason=f"q is not {LATENT} + {ROTARY} wide"),
    Constraint(formula="splits >= 1", reason="splits is not positive"),
    Constraint(formula="BS >= 1", reason="a block of the cache holds no token"),
)
_WORDS = (
    f"out = softmax(scale * q c^T) c[:, :{LATENT}] over the context_lens tokens c of each sequence, which lie in "
    "the cache blocks that its row of block_tables names; lse = log of the softmax's sum. The L queries are the "
    "newest tokens, and see no later one. Any number of heads and queries. A query that sees nothing gives 0, "
    "and lse -inf. Tokens are cut into splits, added up in order by a second kernel: deterministic, and the same "
    "for any batch as long as splits is."
)


def _make_cache(dtype: str) -> ArraySpec:
    return ArraySpec(name="cache", dims=("NB", "BS", "W"), dtype=dtype)


SPECS = (
    OpSpec(
        name="mla_decode",
        summary=_WORDS,
        dtype_axes=(HALVES,),
        inputs=(_Q, _make_cache("T"), *_TABLES),
        outputs=_OUTPUTS,
        scalars=_SCALARS,
        constraints=_RULES,
        source="DeepSeek-V2, https://arxiv.org/abs/2405.04434",
    ),
    OpSpec(
        name="mla_decode_fp8",
        summary=f"The cache holds c / cache_scale in fp8. {_WORDS}",
        dtype_axes=(HALVES, E4M3),
        inputs=(_Q, _make_cache("Q"), *_TABLES, _SCALE),
        outputs=_OUTPUTS,
        scalars=_SCALARS,
        constraints=_RULES,
        source="DeepSeek-V2, https://arxiv.org/abs/2405.04434",
    ),
)
