"""What a program asks for → Registration: ops, hooks and what was rejected, as a value that can be undone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rockiln_torch import attach
from rockiln_torch.compose import LOG


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooked:
    """Something of the process that was changed, and to what."""

    target: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRegistered:
    """A part that was asked for and is not there, and why."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What one `register` did."""

    registered: tuple[str, ...]
    """Ops, "rockiln::rms_norm" and "rockiln::rms_norm_out"."""
    hooked: tuple[Hooked, ...]
    rejected: tuple[NotRegistered, ...]
    number: int
    _undo: tuple[Callable[[], None], ...] = field(default=(), repr=False)

    def undo(self) -> None:
        """Take it back; twice is once. Ops stay as long as another registration holds them."""
        if self.number not in _live:
            return
        _live.discard(self.number)
        for step in reversed(self._undo):
            step()

    def explain(self) -> str:
        """Lines for a person."""
        lines = [f"{len(self.registered)} ops of torch.ops.rockiln"] if self.registered else []
        lines += [f"hooked {item.target}: {item.what}" for item in self.hooked]
        return "\n".join([*lines, *(f"not {item.part}: {item.reason}" for item in self.rejected)])


_numbers = itertools.count(1)
_live: set[int] = set()
_with_kernels: set[int] = set()


def register(
    *, kernels: bool = True, compat: bool = True, pynvml: bool = False, extensions: bool = False
) -> Registration:
    """Define all ops in this process, and turn on hipcompat's help for CUDA-minded code.

    kernels: torch.ops.rockiln.*, every op whole, so that callers that are no Python code find them, too.
    compat: uncaught HIP errors say what they mean and which kernels ran last. With it, `extensions` makes
    torch.utils.cpp_extension.CUDAExtension hipcompat's, and `pynvml` puts an amdsmi-backed pynvml in place.

    Asks no GPU. Raises rockiln_torch.native.NativeError if this torch cannot take the ops.
    """
    number = next(_numbers)
    registered = _register_kernels(number) if kernels else ()
    rejected = list(_check_kernels()) if kernels else []
    undo: list[Callable[[], None]] = [lambda: _release_kernels(number)] if kernels else []
    hooked: tuple[Hooked, ...] = ()
    if compat:
        hooked, missing, step = _enable_compat(pynvml=pynvml, extensions=extensions)
        rejected += missing
        undo.append(step)
    _live.add(number)
    made = Registration(
        registered=registered, hooked=hooked, rejected=tuple(rejected), number=number, _undo=tuple(undo)
    )
    LOG.info("%s", made.explain())
    return made


def _register_kernels(number: int) -> tuple[str, ...]:
    attach.define_ops()
    names = attach.attach_all()
    _with_kernels.add(number)
    return tuple(sorted(f"rockiln::{name}{suffix}" for name in names for suffix in ("", "_out")))


def _release_kernels(number: int) -> None:
    _with_kernels.discard(number)
    if not _with_kernels:
        attach.withdraw_ops()


def _check_kernels() -> Iterable[NotRegistered]:
    """What calls on a GPU will lack, as far as the disk tells."""
    from rockiln_kernels.archs import ARCHS
    from rockiln_kernels.launcher import LaunchError, find_library
    from rockiln_kernels.selection.host import find_pack

    try:
        find_library()
    except LaunchError as error:
        yield NotRegistered(part="launches on a GPU", reason=str(error))
    if not any(find_pack(arch) for arch in ARCHS):
        reason = "no pack is installed, rockiln-kernels-ARCH: every op is torch's own on a GPU, too"
        yield NotRegistered(part="packs", reason=reason)


def _enable_compat(
    *, pynvml: bool, extensions: bool
) -> tuple[tuple[Hooked, ...], list[NotRegistered], Callable[[], None]]:
    try:
        from hipcompat import runtime
    except ImportError as error:
        return (), [NotRegistered(part="compat", reason=f"hipcompat is not installed ({error})")], lambda: None
    handle: Any = runtime.enable(pynvml=pynvml, extensions=extensions, launches=list_recent_calls)
    hooked = tuple(Hooked(target=item.target, what=item.what) for item in handle.hooked)
    return hooked, [NotRegistered(part=item.part, reason=item.reason) for item in handle.skipped], handle.undo


def list_recent_calls() -> tuple[str, ...]:
    """The calls that kernels ran, the latest first, for notes about HIP's errors. Nothing is opened for it."""
    from rockiln_kernels.dispatch import dispatcher

    current = dispatcher._State.current  # noqa: SLF001  # install() would open the library
    plans = current.list_plans() if current else ()
    facts = [plan.facts for plan in plans if plan.facts.kernel]
    return tuple(f"rockiln::{item.op} {item.kernel}: {item.call}" for item in facts)
