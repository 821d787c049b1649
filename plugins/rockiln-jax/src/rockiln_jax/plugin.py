"""What JAX calls by the entry point `jax_plugins`, before it looks for devices: kernels are registered, quietly."""

from __future__ import annotations

import logging
import pkgutil
import sys
from importlib.metadata import entry_points


def has_rocm() -> bool:
    """Whether a PJRT plugin for ROCm is installed: in the namespace jax_plugins, as AMD's, or by an entry point."""
    namespace = sys.modules.get("jax_plugins")
    names = [item.name for item in pkgutil.iter_modules(namespace.__path__)] if namespace else []
    names += [item.value for item in entry_points(group="jax_plugins")]
    return any("rocm" in name for name in names)


def initialize() -> None:
    """Register the kernels where JAX may find a ROCm GPU, unless somebody has registered them.

    Never raises, prints or looks for a GPU: a failure is a debug line. Without a ROCm plugin nothing is imported.
    """
    try:
        if not has_rocm():
            return
        from rockiln_jax.lowering import has_route
        from rockiln_jax.registration import register

        if has_route("rocm"):  # JAX calls this late, when a program may have registered with settings of its own
            return
        rejected = register(kernels=True, compat=False).rejected
    except Exception:  # whatever it is, JAX must start
        logging.getLogger("rockiln_jax").debug("rockiln could not be registered", exc_info=True)
        return
    for what, reason in rejected:
        logging.getLogger("rockiln_jax").debug("%s was not registered: %s", what, reason)
