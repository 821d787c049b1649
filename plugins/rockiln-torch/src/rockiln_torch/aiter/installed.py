"""The AITER of this environment: why it cannot be called, or its functions. It is imported when one is loaded."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from rockiln_torch.aiter.causes import explain_cause

VARIABLE = "ROCKILN_AITER"
OFF, BUILT, JIT = "0", "1", "jit"
"""Values of the variable: never; only what is built (the default); also what it compiles at first use."""
ROCM_FOLDER = "/opt/rocm"


class AiterUnavailableError(RuntimeError):
    """AITER, or one function of it, cannot be used; the message is the first cause."""


class _State:
    """What this process has learned about AITER."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.import_failure = ""
        self.failures: dict[object, str] = {}
        self.functions: dict[str, Callable[..., Any]] = {}


_state = _State()


def forget_state() -> None:
    """As in a new process, but that Python keeps what is imported."""
    global _state  # noqa: PLW0603  # the process's
    _state = _State()
    find_folder.cache_clear()


@lru_cache(maxsize=1)
def find_folder() -> Path | None:
    """Where the package lies, without importing it."""
    try:
        spec = find_spec("aiter")
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec and spec.origin else None


def find_obstacle(environ: Mapping[str, str] | None = None) -> str:
    """Why no op can use AITER here, or "". Imports nothing: a failed import is known from the one that was tried."""
    mode = (os.environ if environ is None else environ).get(VARIABLE) or BUILT
    if mode == OFF:
        return f"turned off: {VARIABLE}=0"
    if mode not in {BUILT, JIT}:
        return f"{VARIABLE}={mode} is none of 0, 1 and jit"
    if find_folder() is None:
        return "not installed"
    if not is_for_rocm():
        return f"this torch, {torch.__version__}, is not for ROCm"
    return _state.import_failure


def is_for_rocm() -> bool:
    """Whether this torch is AMD's."""
    return torch.version.hip is not None


def find_unbuilt(modules: Sequence[str], environ: Mapping[str, str] | None = None) -> str:
    """Why a function cannot be used though AITER can: none of its JIT modules' names is built. "" if one is.

    `modules` are alternatives: AITER's names have changed. None at all: a name depends on the call, so nobody can tell.
    """
    known = os.environ if environ is None else environ
    own = find_folder()
    folders = [Path(known["AITER_JIT_DIR"])] if known.get("AITER_JIT_DIR") else [own / "jit"] if own else []
    if any((folder / f"{name}.so").is_file() for folder in folders for name in modules):
        return ""
    what = f"{' or '.join(modules)} is not built" if modules else "whether its module is built cannot be told"
    if known.get(VARIABLE) != JIT:
        return f"{what}, and AITER compiles for minutes at the first call; {VARIABLE}=jit allows that"
    return "" if find_compiler(known) else f"{what}, and there is no hipcc to build it with"


def find_compiler(environ: Mapping[str, str]) -> str | None:
    """hipcc, where torch's extensions look for it."""
    rocm = environ.get("ROCM_HOME") or environ.get("ROCM_PATH") or ROCM_FOLDER
    return shutil.which("hipcc", path=f"{environ.get('PATH', '')}{os.pathsep}{rocm}/bin")


def find_failure(key: object) -> str:
    """Why a function, or one call of it, has failed in this process, or ""."""
    return _state.failures.get(key, "")


def note_failure(key: object, error: BaseException) -> str:
    """Remember it; the sentence that explains it."""
    reason = str(error) if isinstance(error, AiterUnavailableError) else explain_cause(error)
    _state.failures[key] = reason
    return reason


def has_loaded(name: str) -> bool:
    """Whether load_function has given a function of that name."""
    return name in _state.functions


def load_function(name: str) -> Callable[..., Any]:
    """A function such as "aiter.rms_norm"; AITER is imported for it. Raises AiterUnavailableError, always the same."""
    with _state.lock:
        if name in _state.functions:
            return _state.functions[name]
        if _state.import_failure:
            raise AiterUnavailableError(_state.import_failure)
        module, _, function = name.rpartition(".")
        try:
            _state.functions[name] = found = getattr(import_module(module), function)
        except AttributeError as error:
            raise AiterUnavailableError(f"this AITER has no {name}") from error
        except (Exception, SystemExit) as error:
            _state.import_failure = f"it cannot be imported: {explain_cause(error)}"
            raise AiterUnavailableError(_state.import_failure) from error
        return found  # type: ignore[no-any-return]
