"""A call + a host → who runs it, as a value.

Importing this costs nothing: no NumPy, no subprocess, no GPU probe; its own modules are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rockiln_kernels.selection.explain_call import explain, supported
    from rockiln_kernels.selection.host import Host, InstalledPack, open_pack, read_host
    from rockiln_kernels.selection.values import NotSelectedError, RejectedCandidate, Selection

__all__ = [
    "Host",
    "InstalledPack",
    "NotSelectedError",
    "RejectedCandidate",
    "Selection",
    "explain",
    "open_pack",
    "read_host",
    "supported",
]
_PLACES = {
    "explain_call": ("explain", "supported"),
    "host": ("Host", "InstalledPack", "open_pack", "read_host"),
    "values": ("NotSelectedError", "RejectedCandidate", "Selection"),
}


def __getattr__(name: str) -> Any:
    """What __all__ names, from its module."""
    for module, names in _PLACES.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__} has no attribute {name!r}")
