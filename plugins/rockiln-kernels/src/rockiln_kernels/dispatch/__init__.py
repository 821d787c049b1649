"""A framework's call → a plan: who runs it, and how. Python's side of launcher/rockiln_dispatch.h.

Importing this opens and imports nothing; `install` opens librockiln, and the first call opens the GPU's runtime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rockiln_kernels.dispatch.caller import Argument, HeldPlan, PlanFacts
    from rockiln_kernels.dispatch.dispatcher import Dispatcher, Settings, install, read_api_address, uninstall
    from rockiln_kernels.dispatch.planner import CallError, Plan, Planner

__all__ = [
    "Argument",
    "CallError",
    "Dispatcher",
    "HeldPlan",
    "Plan",
    "PlanFacts",
    "Planner",
    "Settings",
    "install",
    "read_api_address",
    "uninstall",
]
_PLACES = {
    "caller": ("Argument", "HeldPlan", "PlanFacts"),
    "dispatcher": ("Dispatcher", "Settings", "install", "read_api_address", "uninstall"),
    "planner": ("CallError", "Plan", "Planner"),
}


def __getattr__(name: str) -> Any:
    """What __all__ names, from its module."""
    for module, names in _PLACES.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__} has no attribute {name!r}")
