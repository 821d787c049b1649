"""moe_align with lists of slots."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.arrays import Arrays, Scalars


def moe_align(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"sorted_slots", "block_experts", "total"} of ids [M, top]."""
    ids, size = arrays["ids"].reshape(-1), int(scalars["block_size"])
    slots: list[int] = []
    owners: list[int] = []
    for expert in range(scalars["experts"]):
        own = np.flatnonzero(ids == expert).tolist()
        blocks = -(-len(own) // size)
        slots += own + [ids.size] * (blocks * size - len(own))
        owners += [expert] * blocks
    capacity = -(-(ids.size + min(scalars["experts"], ids.size) * (size - 1)) // size)
    slots, total = slots + [ids.size] * (capacity * size - len(slots)), len(slots)
    owners += [-1] * (capacity - len(owners))
    values = {"sorted_slots": slots, "block_experts": owners, "total": [total]}
    return {name: np.array(value, np.int32) for name, value in values.items()}


REFERENCES = {"moe_align": moe_align}
