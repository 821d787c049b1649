"""What is added up in softmax attention, and how large it is: the magnitudes that attention's cases state.

Two kinds of rounding count beside the rule's own. Scores come from f32 sums of up to |q| |k| each, and their errors go
through exp into the weights. And the weights are rounded to the type of v before the second product.
"""

from __future__ import annotations

import numpy as np

from harness.case import Array
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.references.attention import weigh_keys


def measure_attention(
    q: Array, k: Array, v: Array, scale: float, seen: Array, dtype: str, sink: float | None
) -> tuple[Array, Array]:
    """(magnitude of out [L, DV], of lse [L]) for the rule with D terms."""
    with np.errstate(all="ignore"):
        weights, lse = weigh_keys(q @ k.T * scale, seen, sink)
        sizes = np.where(seen, np.abs(q) @ np.abs(k).T * scale, 0.0).max(axis=1, initial=0.0)
        own = 2.0**-24 * (16.0 + 4.0 * np.sqrt(q.shape[1]))
        rounded = 2.0 ** -(DTYPES[dtype].mantissa_bits + 1) / own
        return weights @ np.abs(v) * (rounded + 2.0 + 2.0 * sizes)[:, None], 1.0 + np.abs(np.nan_to_num(lse)) + sizes
