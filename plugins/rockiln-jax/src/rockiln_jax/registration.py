"""register() → Registration: the FFI target, the route of `rocm` to the packs, and HIP's compatibility layer."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln_jax.native import SYMBOL, find_library, make_capsule, open_handler
from rockiln_kernels.registration import Registration, join_registrations, make_arch_finder, register_compat

if TYPE_CHECKING:
    from rockiln_kernels.dispatch import Settings

__all__ = ["FFI_PLATFORM", "Registration", "register"]
FFI_PLATFORM = "ROCM"
"""As AMD's PJRT plugin for JAX 0.6 calls itself where FFI targets are registered."""


def register(
    *, kernels: bool = True, compat: bool = True, arch: str = "", settings: Settings | None = None
) -> Registration:
    """Let JAX run rockiln's kernels on ROCm GPUs (`kernels`), and hook HIP's compatibility layer (`compat`).

    `arch` is the GPU to lower for (gfx942); without it, ROCKILN_ARCH, else the first GPU's, asked when a call is first
    lowered. `settings` are dispatch's. Nothing is opened but two libraries, and no GPU is looked for. What could not be
    registered is in `rejected`; nothing is raised.
    """
    parts = [_register_kernels(arch, settings)] if kernels else []
    return join_registrations([*parts, *([register_compat("rockiln-jax")] if compat else [])])


def _register_kernels(arch: str, settings: Settings | None) -> Registration:
    from rockiln_jax.lowering import TARGET, Route, close_route, open_route
    from rockiln_kernels.dispatch import install
    from rockiln_kernels.launcher import LaunchError

    try:
        dispatcher = install(settings)
        _register_target(find_library(), SYMBOL, TARGET, FFI_PLATFORM)
    except (LaunchError, OSError) as error:
        return Registration(rejected=(("kernels", str(error)),))
    find_arch = make_arch_finder(dispatcher, arch or os.environ.get("ROCKILN_ARCH", ""))
    open_route("rocm", Route(target=TARGET, planner=dispatcher.planner, find_arch=find_arch))
    return Registration(
        registered=(f"FFI target {TARGET} for {FFI_PLATFORM}", "lowering of rocm"),
        undoings=(lambda: close_route("rocm"),),
    )


@lru_cache(maxsize=8)
def _register_target(path: Path, symbol: str, target: str, platform: str) -> None:
    """Once in a process: XLA refuses another handler under the same name."""
    from jax import ffi

    from rockiln_kernels.dispatch import read_api_address

    library = open_handler(path, read_api_address(), symbol)
    ffi.register_ffi_target(target, make_capsule(library, symbol), platform=platform)
