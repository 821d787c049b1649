"""A call + a host → who runs it, as a value.

Importing this costs nothing: no NumPy, no subprocess, no GPU probe; its own modules are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rockiln_kernels.lazy import make_lazy

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
__getattr__, __dir__ = make_lazy(
    __name__,
    {
        "explain_call": ("explain", "supported"),
        "host": ("Host", "InstalledPack", "open_pack", "read_host"),
        "values": ("NotSelectedError", "RejectedCandidate", "Selection"),
    },
)
