"""PyTorch: import it, and torch.ops.rockiln.* are there. `register`, `explain` and `profile` do the rest.

Importing defines the ops and nothing more: it opens no GPU, prints nothing and starts nothing. An op that is first
called on a GPU opens the GPU's runtime and the pack of kernels; on any other device it is torch's own ops.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rockiln_torch.attach import define_ops

if TYPE_CHECKING:
    from rockiln_torch import ops
    from rockiln_torch.explain import Explanation, explain
    from rockiln_torch.profile import Profile, profile
    from rockiln_torch.registration import Registration, register

__all__ = ["Explanation", "Profile", "Registration", "explain", "ops", "profile", "register"]
__version__ = "0.1.0"
_PLACES = {
    "Explanation": "explain",
    "Profile": "profile",
    "Registration": "registration",
    "explain": "explain",
    "profile": "profile",
    "register": "registration",
}

define_ops()


def __getattr__(name: str) -> Any:
    """What __all__ names, from its module, when it is first asked for."""
    if name == "ops":
        return import_module("rockiln_torch.ops")
    if name in _PLACES:
        value = getattr(import_module(f"rockiln_torch.{_PLACES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rockiln_torch' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is imported, and what __all__ names."""
    return sorted({*globals(), *__all__})
