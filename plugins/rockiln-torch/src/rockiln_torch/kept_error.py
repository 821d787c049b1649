"""An exception in a function that native code calls → the three words by which native code raises it again.

Nothing may be raised through C: ctypes would print it and answer 0. native/python_error.cc reads the words.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

_kept = threading.local()


def forget_error() -> None:
    """Let go of this thread's last exception: it holds a traceback, and that the tensors of its frames."""
    _kept.error = None


def keep_error(error: BaseException, results: Any) -> int:
    """Write the exception, its type and its text into `results` (u64[]), and answer 1. They live until the next one."""
    text = ctypes.create_string_buffer(f"{type(error).__name__}: {error}".encode())
    _kept.error, _kept.text = error, text
    results[0], results[1] = id(error), id(type(error))
    results[2] = ctypes.addressof(text)
    return 1
