"""The op table → torch.ops.rockiln.*: definitions and native code at once, the rest when an op is first named.

Naming an op (`torch.ops.rockiln.rms_norm`) attaches its fake, gradient, autocast, batching and composition, so that
importing costs milliseconds; `attach_all` attaches every op's, for who calls ops by other ways.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import torch

from rockiln_torch import native
from rockiln_torch.kept_error import keep_error
from rockiln_torch.op_table import OPS

_names = frozenset(OPS)
_attached: dict[str, torch.library.Library] = {}
_lock = threading.RLock()
_is_defined = False
_KEYS = ("host", "CPU", "CUDA", "")


class OpNamespace(torch._ops._OpNamespace):  # noqa: SLF001
    """torch.ops.rockiln, which attaches an op before it hands it out."""

    __module__ = torch._ops._OpNamespace.__module__  # noqa: SLF001  # ops take their own names from it, to be pickled

    def __getattr__(self, name: str) -> Any:
        """The op's packet. Raises AttributeError, as any namespace does."""
        base = name.removesuffix("_out")
        if base in _names and _is_defined:
            attach_op(base)
        return super().__getattr__(name)


def define_ops() -> None:
    """Define and serve all ops, once a process. Raises native.NativeError."""
    global _is_defined  # noqa: PLW0603  # torch's registry is the process's, too
    with _lock:
        if _is_defined:
            return
        native.define_ops(_compose_native, _find_dispatch)
        try:
            for key in ("CUDA", "CPU"):
                native.serve_key(key)
        except native.NativeError:
            for key in _KEYS:
                native.withdraw_key(key)
            raise
        torch.ops.rockiln = OpNamespace("rockiln")  # type: ignore[attr-defined]
        _is_defined = True


def withdraw_ops() -> None:
    """Take everything back: torch.ops.rockiln has no ops any more."""
    global _is_defined  # noqa: PLW0603
    with _lock:
        for library in _attached.values():
            library._destroy()  # noqa: SLF001  # the only way that torch has
        _attached.clear()
        _forget_backward()
        for key in _KEYS:
            native.withdraw_key(key)
        if _is_defined:
            delattr(torch.ops, "rockiln")
        _is_defined = False


def _forget_backward() -> None:
    from rockiln_torch import compose_backward, gradients

    compose_backward.withdraw_backward()
    gradients.forget_ops()


def attach_all() -> tuple[str, ...]:
    """Attach every op; their names."""
    for name in OPS:
        attach_op(name)
    return OPS


def attach_op(op: str) -> None:
    """Register what Python adds to an op and to its out-variant. Does nothing the second time."""
    if op in _attached:
        return
    with _lock:
        if op in _attached:
            return
        library = torch.library.Library("rockiln", "IMPL")
        _attached[op] = library
        _implement_op(op, library)


def _implement_op(op: str, library: torch.library.Library) -> None:
    from rockiln_torch import fakes, kernels

    library.impl(op, kernels.make_kernel(op), "CompositeExplicitAutograd")
    library.impl(f"{op}_out", kernels.make_out_kernel(op), "CompositeExplicitAutograd")
    library.impl(op, fakes.make_fake(op), "Meta")
    library.impl(f"{op}_out", fakes.make_out_fake(op), "Meta")
    packet = torch._ops._OpNamespace.__getattr__(torch.ops.rockiln, op)  # noqa: SLF001  # not ours: this is its work
    _implement_transforms(op, packet.default, library)


def _implement_transforms(op: str, overload: Any, library: torch.library.Library) -> None:
    from rockiln_torch.autocast import KEYS, list_cast_places, make_autocast
    from rockiln_torch.batching import make_batching
    from rockiln_torch.forms import read_forms
    from rockiln_torch.gradients import is_differentiable, make_autograd

    spec = read_forms()[op].spec
    if is_differentiable(spec):
        library.impl(op, make_autograd(op, overload), "Autograd", with_keyset=True)
    else:
        library.impl(op, torch.library.fallthrough_kernel, "Autograd")  # codes have no gradient: no warning either
    library.impl(op, make_batching(spec, overload), "FuncTorchBatched", with_keyset=True)
    if list_cast_places(spec):
        for device, key in KEYS.items():
            library.impl(op, make_autocast(spec, overload, device), key)


def _compose_native(*arguments: Any) -> int:
    try:
        from rockiln_torch.bridge import compose_native
    except BaseException as error:  # noqa: BLE001  # a broken installation: the call raises what the import did
        return keep_error(error, arguments[-1])
    return compose_native(*arguments)


def _find_dispatch() -> int:
    try:
        from rockiln_torch.bridge import find_dispatch
    except Exception:  # noqa: BLE001  # no kernels, then; the call itself says what is broken
        return 0
    return find_dispatch()


def list_attached() -> Sequence[str]:
    """Ops that have been named so far."""
    return tuple(sorted(_attached))


