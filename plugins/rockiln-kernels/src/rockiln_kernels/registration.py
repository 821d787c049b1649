"""What register() of rockiln-jax and rockiln-tensorflow share → Registration. Imports no framework, opens nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rockiln_kernels.dispatch import Dispatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What was registered, hooked and rejected, each in words; `undo` takes it back."""

    registered: tuple[str, ...] = ()
    hooked: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    """What, and why not."""
    undoings: tuple[Callable[[], None], ...] = ()

    def undo(self) -> None:
        """Calls made or lowered from now on are compositions, and compat is unhooked.

        What a framework does not give back stays: XLA keeps FFI targets, TensorFlow the ops themselves.
        """
        for take_back in reversed(self.undoings):
            take_back()


def join_registrations(parts: Sequence[Registration]) -> Registration:
    """All of them as one, in order."""
    return Registration(
        registered=tuple(item for part in parts for item in part.registered),
        hooked=tuple(item for part in parts for item in part.hooked),
        rejected=tuple(item for part in parts for item in part.rejected),
        undoings=tuple(item for part in parts for item in part.undoings),
    )


def make_arch_finder(dispatcher: Dispatcher, arch: str) -> Callable[[], str]:
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


def register_compat(distribution: str) -> Registration:
    """Hook HIP's compatibility layer, if it is installed; `distribution` is whose extra brings it."""
    try:
        from hipcompat import runtime
    except ImportError as error:
        return Registration(rejected=(("compat", f"{error}: pip install {distribution}[compat]"),))
    handle = runtime.enable()
    return Registration(
        hooked=tuple(f"{hook.target}: {hook.what}" for hook in handle.hooked),
        rejected=tuple((f"compat {part.part}", part.reason) for part in handle.skipped),
        undoings=(handle.undo,),
    )
