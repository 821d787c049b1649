"""What JAX calls by the entry point `jax_plugins`, before it looks for devices: kernels are registered, quietly."""

from __future__ import annotations

import logging


def initialize() -> None:
    """Register the kernels, unless somebody has. Never raises, prints or looks for a GPU: a failure is a debug line."""
    try:
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
