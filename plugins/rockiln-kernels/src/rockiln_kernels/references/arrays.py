"""What references take and give: name → NumPy array, and scalars by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]
Scalars = Mapping[str, Any]
"""Numbers by name; a dtype axis that no input decides comes by its name too, as a dtype's name."""
Reference = Callable[[Arrays, Scalars], Arrays]


def widen(array: Array) -> Array:
    """The same values in float64: exact for every type we have."""
    return array.astype(np.float64)
