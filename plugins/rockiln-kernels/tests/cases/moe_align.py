"""moe_align → cases."""

from __future__ import annotations

import numpy as np

from harness.case import Array, Case, make_generator
from rockiln_kernels.spec import OpSpec

_SHAPES = (
    ("aligned", 32, 2, 8, 16),
    ("ragged", 37, 3, 5, 7),
    ("tiny", 1, 1, 1, 1),
    ("many", 150, 8, 12, 64),
    ("half", 87, 8, 9, 16),
    ("loops", 290, 8, 40, 5),
    ("whole", 128, 8, 130, 3),
    ("padded", 3, 1, 2, 1500),
)
"""name, tokens, choices, experts, block size."""


def make_cases(spec: OpSpec, _cell: str) -> list[Case]:
    """Random choices; ids that are no expert's; all tokens at one expert."""
    cases = []
    for name, tokens, top, experts, size in _SHAPES:
        generator = make_generator(spec.name, name)
        ids = np.argsort(generator.random((tokens, max(top, experts))), axis=1)[:, :top].astype(np.int32)
        cases.append(_make_case(name, ids, experts, size))
    outside = np.array([[0, -1], [7, 2], [3, 2]], np.int32)
    return [*cases, _make_case("outside", outside, 3, 4), _make_case("one", np.full((20, 1), 2, np.int32), 4, 8)]


def _make_case(name: str, ids: Array, experts: int, size: int) -> Case:
    return Case(name=name, arrays={"ids": ids}, scalars={"experts": experts, "block_size": size})
