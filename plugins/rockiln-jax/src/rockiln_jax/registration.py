"""register() → Registration: the FFI target, the route of `rocm` to the packs, and HIP's compatibility layer."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln_jax.native import SYMBOL, find_library, make_capsule, open_handler

if TYPE_CHECKING:
    from rockiln_kernels.dispatch import Dispatcher, Settings

FFI_PLATFORM = "ROCM"
"""As AMD's PJRT plugin for JAX 0.6 calls itself where FFI targets are registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What was registered, hooked and rejected, each in words; `undo` takes it back."""

    registered: tuple[str, ...] = ()
    hooked: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    """What, and why not."""
    undoings: tuple[Callable[[], None], ...] = ()

    def undo(self) -> None:
        """Calls lowered from now on are compositions, and compat is unhooked. FFI targets stay: XLA keeps them."""
        for take_back in reversed(self.undoings):
            take_back()


def register(
    *, kernels: bool = True, compat: bool = True, arch: str = "", settings: Settings | None = None
) -> Registration:
    """Let JAX run rockiln's kernels on ROCm GPUs (`kernels`), and hook HIP's compatibility layer (`compat`).

    `arch` is the GPU to lower for (gfx942); without it, ROCKILN_ARCH, else the first GPU's, asked when a call is first
    lowered. `settings` are dispatch's. Nothing is opened but two libraries, and no GPU is looked for. What could not be
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
    from rockiln_jax.lowering import TARGET, Route, close_route, open_route
    from rockiln_kernels.dispatch import install
    from rockiln_kernels.launcher import LaunchError

    try:
        dispatcher = install(settings)
        _register_target(find_library(), SYMBOL, TARGET, FFI_PLATFORM)
    except (LaunchError, OSError) as error:
        return Registration(rejected=(("kernels", str(error)),))
    find_arch = _make_arch_finder(dispatcher, arch or os.environ.get("ROCKILN_ARCH", ""))
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
        return Registration(rejected=(("compat", f"{error}: pip install rockiln-jax[compat]"),))
    handle = runtime.enable()
    return Registration(
        hooked=tuple(f"{hook.target}: {hook.what}" for hook in handle.hooked),
        rejected=tuple((f"compat {part.part}", part.reason) for part in handle.skipped),
        undoings=(handle.undo,),
    )
