"""rockiln's GPU kernels for JAX: `rockiln_jax.ops` everywhere, by kernels on ROCm GPUs after `register()`.

Importing this imports neither JAX nor a kernel; the `jax_plugins` entry point registers the kernels when JAX first
looks for devices.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rockiln_jax import nn, ops
    from rockiln_jax.explain_call import explain
    from rockiln_jax.registration import Registration, register

__all__ = ["Registration", "explain", "nn", "ops", "register"]


def __getattr__(name: str) -> Any:
    """What __all__ names, imported when it is first used."""
    if name in {"nn", "ops"}:
        return import_module(f"rockiln_jax.{name}")
    if name == "explain":
        return import_module("rockiln_jax.explain_call").explain
    if name in {"Registration", "register"}:
        return getattr(import_module("rockiln_jax.registration"), name)
    raise AttributeError(f"module {__name__} has no attribute {name!r}")


def __dir__() -> list[str]:
    """With what is imported only when it is first used."""
    return sorted({*globals(), *__all__})
