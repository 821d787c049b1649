"""register() → Registration: the kernels' functions, the route of GPUs to the packs, and HIP's compatibility layer."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rockiln_tensorflow.native import bind_functions, load_ops

if TYPE_CHECKING:
    from rockiln_kernels.dispatch import Dispatcher, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What was registered, hooked and rejected, each in words; `undo` takes it back."""

    registered: tuple[str, ...] = ()
    hooked: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    """What, and why not."""
    undoings: tuple[Callable[[], None], ...] = ()

    def undo(self) -> None:
        """Calls made from now on are compositions, and compat is unhooked. TensorFlow keeps the ops themselves."""
        for take_back in reversed(self.undoings):
            take_back()


def register(
    *, kernels: bool = True, compat: bool = True, arch: str = "", settings: Settings | None = None
) -> Registration:
    """Let TensorFlow run rockiln's kernels on ROCm GPUs (`kernels`), and hook HIP's compatibility layer (`compat`).

    `arch` is the GPU to trace for (gfx942); without it, ROCKILN_ARCH, else the first GPU's, asked when a call is first
    made. `settings` are dispatch's. Nothing is opened but a library, and no GPU is looked for. What could not be
    registered is in `rejected`; nothing is raised.
    """
    parts = [*([_register_kernels(arch, settings)] if kernels else []), *([_register_compat()] if compat else [])]
    return Registration(
        registered=tuple(item for part in parts for item in part.registered),
        hooked=tuple(item for part in parts for item in part.hooked),
        rejected=tuple(item for part in parts for item in part.rejected),
        undoings=tuple(item for part in parts for item in part.undoings),
    )


def _register_kernels(arch: str, settings: Settings | None) -> Registration:
    from rockiln_kernels.dispatch import install, read_api_address
    from rockiln_kernels.launcher import LaunchError
    from rockiln_tensorflow.routing import Route, close_route, open_route

    try:
        dispatcher = install(settings)
        bind_functions(load_ops(), read_api_address())
    except (LaunchError, OSError) as error:
        return Registration(rejected=(("kernels", str(error)),))
    find_arch = _make_arch_finder(dispatcher, arch or os.environ.get("ROCKILN_ARCH", ""))
    open_route(Route(planner=dispatcher.planner, find_arch=find_arch))
    return Registration(registered=("kernels of GPU",), undoings=(close_route,))


def _make_arch_finder(dispatcher: Dispatcher, arch: str) -> Callable[[], str]:
    """The named arch, else that of the first GPU, asked once; "" where there is none."""

    @lru_cache(maxsize=1)
    def find_arch() -> str:
        from rockiln_kernels.launcher import Launcher, LaunchError

        if arch:
            return arch
        try:
            return Launcher(driver=dispatcher.settings.driver, library=dispatcher.settings.library).read_device(0).arch
        except LaunchError:
            return ""

    return find_arch


def _register_compat() -> Registration:
    try:
        from hipcompat import runtime
    except ImportError as error:
        return Registration(rejected=(("compat", f"{error}: pip install rockiln-tensorflow[compat]"),))
    handle = runtime.enable()
    return Registration(
        hooked=tuple(f"{hook.target}: {hook.what}" for hook in handle.hooked),
        rejected=tuple((f"compat {part.part}", part.reason) for part in handle.skipped),
        undoings=(handle.undo,),
    )
