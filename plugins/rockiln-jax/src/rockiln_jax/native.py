"""librockiln_jax.so → the XLA FFI handler's capsule, bound to librockiln's functions."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

NAME = "librockiln_jax.so"
SYMBOL = "rockiln_jax_call"


def find_library() -> Path:
    """Beside this module, as in the wheel; else in build/ of the checkout that an editable install points to."""
    installed = Path(__file__).with_name(NAME)
    built = Path(__file__).parents[2] / "build" / NAME
    return built if built.is_file() and not installed.is_file() else installed


def open_handler(path: Path, api_address: int, symbol: str = SYMBOL) -> ctypes.CDLL:
    """The library, bound. Raises OSError with a hint if it is not there, or is of another version."""
    try:
        library = ctypes.CDLL(str(path))
        getattr(library, symbol)
    except (OSError, AttributeError) as error:
        raise OSError(f"{path} cannot be used: {error}; install the wheel of rockiln-jax, or build it: "
                      "pip install -e plugins/rockiln-jax needs g++") from error  # fmt: skip
    library.rockiln_jax_bind.argtypes = [ctypes.c_void_p]
    if library.rockiln_jax_bind(api_address):
        raise OSError(f"{path} and librockiln differ in version: install rockiln-jax and rockiln-kernels together")
    return library


def make_capsule(library: ctypes.CDLL, symbol: str = SYMBOL) -> Any:
    """What jax.ffi.register_ffi_target takes."""
    from jax import ffi

    return ffi.pycapsule(getattr(library, symbol))
