"""A case of routed experts → further ones: more tokens, more experts than a workgroup counts at once, steep gates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from harness.case import Array, Case
from harness.derived_products import find_aligned
from rockiln_kernels.spec import OpSpec

_MANY = 2600
"""Choices of experts: two whole turns of 1024 and a part."""
_CROWD = 800
"""Experts: more than lie between an expert's number and that of a lane whose choice is none."""
_TALLEST = 64
"""Rows of the tallest tile."""
_STEEP = 64.0
"""What x is multiplied with: exp of a gate's negative overflows f32."""


def derive_experts(spec: OpSpec, cell: str, cases: Sequence[Case]) -> Iterator[Case]:
    """many, crowd, counts and steep."""
    case = find_aligned(cases)
    if case is None or not spec.name.startswith("fused_moe"):
        return
    yield _make_many(case)
    yield _make_crowd(case)
    yield _make_counts(case)
    yield _make_steep(spec, cell, case)


def _take_tokens(case: Case, name: str, tokens: Array, ids: Array) -> Case:
    """These of its tokens, each as often as it comes, with these experts."""
    arrays = {**case.arrays, "x": case.arrays["x"][tokens], "weights": case.arrays["weights"][tokens], "ids": ids}
    sizes = {key: size[tokens] for key, size in case.magnitudes.items()}
    return replace(case, name=name, arrays=arrays, magnitudes=sizes)


def _make_many(case: Case) -> Case:
    """Tokens that come again and again, each with what it had."""
    count = len(case.arrays["ids"]) * (1 + _MANY // case.arrays["ids"].size)
    tokens = np.arange(count) % len(case.arrays["ids"])
    return _take_tokens(case, f"{case.name}-many", tokens, case.arrays["ids"][tokens])


def _make_crowd(case: Case) -> Case:
    """The experts again and again under other numbers, few of which are chosen."""
    own, ids = len(case.arrays["gate_up"]), case.arrays["ids"]
    arrays = _repeat_experts(case, _CROWD)
    step = own * (np.arange(ids.size).reshape(ids.shape) * 37 % (len(arrays["gate_up"]) // own))
    return replace(case, name="crowd", arrays={**arrays, "ids": (ids + step).astype(np.int32)})


def _repeat_experts(case: Case, count: int) -> dict[str, Array]:
    """The arrays with at least so many experts: its own, again and again under other numbers."""
    times = -(-count // len(case.arrays["gate_up"]))
    names = ("gate_up", "gate_up_scale", "down", "down_scale")
    return {name: np.concatenate([array] * times) if name in names else array for name, array in case.arrays.items()}


def _make_counts(case: Case) -> Case:
    """Experts with one token, with two, and so on, so that tiles of tokens end behind each of their rows."""
    own, ids = len(case.arrays["gate_up"]), case.arrays["ids"]
    chosen = np.repeat(np.arange(_TALLEST), np.arange(1, _TALLEST + 1))
    tokens = np.zeros(len(chosen), np.int64)
    for expert in range(own):  # a token that the same weights were measured with, in its first choice or in another
        able = np.flatnonzero((ids == expert).any(axis=1))
        rows = np.flatnonzero(chosen % own == expert)
        tokens[rows] = able[np.arange(len(rows)) % len(able)]
    fresh = ids[tokens].copy()
    for row, expert in enumerate(chosen.tolist()):
        fresh[row] = np.where(fresh[row] == expert % own, expert, -1)
    more = replace(case, arrays=_repeat_experts(case, _TALLEST))
    return _take_tokens(more, "counts", tokens, fresh.astype(np.int32))


def _make_steep(spec: OpSpec, cell: str, case: Case) -> Case:
    """Gates in the hundreds. f16 would overflow, so that what they are multiplied with stays as it was there."""
    arrays, growth = dict(case.arrays), _STEEP * _STEEP
    arrays["x"] = (arrays["x"].astype(np.float32) * np.float32(_STEEP)).astype(arrays["x"].dtype)
    if spec.name == "fused_moe" and cell == "f16":
        own, growth = arrays["gate_up"].copy(), _STEEP
        half = own.shape[1] // 2
        own[:, half:] = (own[:, half:].astype(np.float32) / np.float32(_STEEP)).astype(own.dtype)
        arrays["gate_up"] = own
    sizes = {key: size * (2.0 * growth) for key, size in case.magnitudes.items()}
    return replace(case, name="steep", arrays=arrays, magnitudes=sizes)
