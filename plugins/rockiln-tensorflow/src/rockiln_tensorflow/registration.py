"""register() → Registration: the kernels' functions, the route of GPUs to the packs, and HIP's compatibility layer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rockiln_kernels.registration import Registration, join_registrations, make_arch_finder, register_compat
from rockiln_tensorflow.native import bind_functions, load_ops

if TYPE_CHECKING:
    from rockiln_kernels.dispatch import Settings

__all__ = ["Registration", "register"]


def register(
    *, kernels: bool = True, compat: bool = True, arch: str = "", settings: Settings | None = None
) -> Registration:
    """Let TensorFlow run rockiln's kernels on ROCm GPUs (`kernels`), and hook HIP's compatibility layer (`compat`).

    `arch` is the GPU to trace for (gfx942); without it, ROCKILN_ARCH, else the first GPU's, asked when a call is first
    made. `settings` are dispatch's. Nothing is opened but a library, and no GPU is looked for. What could not be
    registered is in `rejected`; nothing is raised.
    """
    parts = [_register_kernels(arch, settings)] if kernels else []
    return join_registrations([*parts, *([register_compat("rockiln-tensorflow")] if compat else [])])


def _register_kernels(arch: str, settings: Settings | None) -> Registration:
    from rockiln_kernels.dispatch import install, read_api_address
    from rockiln_kernels.launcher import LaunchError
    from rockiln_tensorflow.routing import Route, close_route, open_route

    try:
        dispatcher = install(settings)
        bind_functions(load_ops(), read_api_address())
    except (LaunchError, OSError) as error:
        return Registration(rejected=(("kernels", str(error)),))
    find_arch = make_arch_finder(dispatcher, arch or os.environ.get("ROCKILN_ARCH", ""))
    open_route(Route(planner=dispatcher.planner, find_arch=find_arch))
    return Registration(registered=("kernels of GPU",), undoings=(close_route,))
