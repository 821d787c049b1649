"""rockiln's GPU kernels for TensorFlow: `rockiln_tensorflow.ops` everywhere, by kernels on ROCm GPUs.

Importing this loads the library of ops, so that saved models that hold them can be loaded; no kernel, and no GPU.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rockiln_tensorflow.cpu_gradients import register_cpu_gradients
from rockiln_tensorflow.native import load_ops

if TYPE_CHECKING:
    from rockiln_tensorflow import layers, ops
    from rockiln_tensorflow.composed.cpu import portable
    from rockiln_tensorflow.explain_call import explain
    from rockiln_tensorflow.registration import Registration, register

__all__ = ["Registration", "explain", "layers", "ops", "portable", "register"]
_PLACES = {
    "explain": "explain_call",
    "Registration": "registration",
    "portable": "composed.cpu",
    "register": "registration",
}

load_ops()
register_cpu_gradients()


def __getattr__(name: str) -> Any:
    """What __all__ names, imported when it is first used."""
    if name in {"layers", "ops"}:
        return import_module(f"rockiln_tensorflow.{name}")
    if name in _PLACES:
        return getattr(import_module(f"rockiln_tensorflow.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name!r}")


def __dir__() -> list[str]:
    """With what is imported only when it is first used."""
    return sorted({*globals(), *__all__})
