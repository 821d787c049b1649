"""A framework's call → a plan: who runs it, and how. Python's side of launcher/rockiln_dispatch.h.

Importing this opens and imports nothing; `install` opens librockiln, and the first call opens the GPU's runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rockiln_kernels.lazy import make_lazy

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
__getattr__, __dir__ = make_lazy(
    __name__,
    {
        "caller": ("Argument", "HeldPlan", "PlanFacts"),
        "dispatcher": ("Dispatcher", "Settings", "install", "read_api_address", "uninstall"),
        "planner": ("CallError", "Plan", "Planner"),
    },
)
