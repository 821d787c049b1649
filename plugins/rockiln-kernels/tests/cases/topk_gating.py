"""topk_softmax and topk_sigmoid → cases."""

from __future__ import annotations

import numpy as np

from harness.case import Array, Case, draw, make_generator, stride_rows
from rockiln_kernels.spec import OpSpec

_SHAPES = (
    ("gpt-oss", 3, 32, 4, 1, 1),
    ("deepseek-r1", 2, 256, 8, 8, 4),
    ("ragged", 2, 37, 3, 1, 1),
    ("tiny", 1, 1, 1, 1, 1),
    ("single-groups", 2, 6, 2, 6, 3),
    ("wide", 1, 640, 6, 5, 2),
    ("special", 4, 60, 6, 3, 2),
    ("ties", 5, 120, 8, 8, 3),
    ("ties-many", 4, 500, 8, 5, 2),
)
"""name, tokens, experts, choices, groups, groups kept."""


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Models' own shapes, odd ones, and logits with NaN, infinities and ties; "ties" has few values but many places."""
    return [_make_case(spec, cell, *shape) for shape in _SHAPES]


def _make_case(spec: OpSpec, cell: str, name: str, *sizes: int) -> Case:
    tokens, experts, top, groups, keep = sizes
    generator = make_generator(spec.name, cell, name)
    logits = draw(generator, (tokens, experts), cell)
    if name == "special":
        logits[0, :], logits[1, 3], logits[2, 5], logits[3, 8:20] = 0.5, np.nan, -np.inf, -np.inf
    if name.startswith("ties"):
        logits = (np.round(logits.astype(np.float64)) * 0.5).astype(logits.dtype)
        logits[1, generator.random(experts) < 0.3], logits[2, generator.random(experts) < 0.3] = np.nan, -np.inf
        logits[3, generator.random(experts) < 0.99] = -np.inf  # fewer than are chosen have a finite logit
    scalars = {"top": top, "renormalise": name != "ragged", "scaling": 2.5 if name == "deepseek-r1" else 1.0}
    arrays: dict[str, Array] = {"logits": stride_rows(logits, 3) if name == "ragged" else logits}
    if spec.name == "topk_sigmoid":
        scalars |= {"groups": groups, "keep": keep}
        bias = draw(generator, (experts,), "f32", size=0.2)
        bias = np.round(bias * 4.0) / np.float32(4.0) if name.startswith("ties") else bias
        arrays |= {} if name == "tiny" else {"bias": bias}
    return Case(name=name, arrays=arrays, scalars=scalars, terms=experts, is_misaligned=name == "ragged")
