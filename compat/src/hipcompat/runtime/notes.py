"""An exception that tells of a HIP error → a note on it: which error, what it means since HIP 7, which kernels ran.

Type and text of an exception stay, so that whoever catches torch's or JAX's own still does. Names and phrases are those
of hipGetErrorName and hipGetErrorString (HIP 7.2.4; a test asks the library).
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

Launches = Callable[[], Iterable[str]]
"""Lines about recent kernel launches, the latest first."""

ANNOUNCEMENT = ""
_LATE = (
    "a kernel did it, launched before this call: since HIP 7 its fault is an error of a later call; "
    "AMD_SERIALIZE_KERNEL=3 makes the launch itself fail"
)
_NO_CODE = "nothing loaded holds code for this GPU's arch: hipcompat doctor says which arch it is, which packs are here"
_CAPTURE = "not allowed while a graph is captured; since HIP 7 more calls refuse: make it before or after the capture"
_STICKY = (
    "since HIP 7 an error stays until hipGetLastError takes it, so a call that nobody checked may have left it; "
    "hipcompat.open_hip() tells which"
)
FAULTS: dict[str, tuple[int, str, str]] = {
    "hipErrorInvalidValue": (1, "invalid argument", _STICKY),
    "hipErrorInvalidConfiguration": (9, "invalid configuration argument", _STICKY),
    "hipErrorInvalidDeviceFunction": (98, "invalid device function", _NO_CODE),
    "hipErrorNoDevice": (100, "no ROCm-capable device is detected", "hipcompat doctor says why"),
    "hipErrorInvalidDevice": (101, "invalid device ordinal", "hipcompat.visible_devices().explain() says which exist"),
    "hipErrorNoBinaryForGpu": (209, "no kernel image is available for execution on the device", _NO_CODE),
    "hipErrorIllegalAddress": (700, "an illegal memory access was encountered", _LATE),
    "hipErrorLaunchTimeOut": (702, "the launch timed out and was terminated", _LATE),
    "hipErrorAssert": (710, "device-side assert triggered", _LATE),
    "hipErrorLaunchFailure": (719, "unspecified launch failure", _LATE),
    "hipErrorStreamCaptureUnsupported": (900, "operation not permitted when stream is capturing", _CAPTURE),
    "hipErrorStreamCaptureInvalidated": (901, "operation failed due to a previous error during capture", _CAPTURE),
}
"""HIP's name → its code, its phrase, what to make of it."""
_BY_PHRASE = {phrase.lower(): name for name, (_, phrase, _) in FAULTS.items()}
_PHRASE = re.compile(rf"\b(?:HIP|ROCm)\b[^\n]{{0,40}}?[:=(\s](?P<phrase>{'|'.join(_BY_PHRASE)})", re.IGNORECASE)
_NAME = re.compile(r"\b(?:hipError|HIP_ERROR_)(?P<short>[A-Za-z]+)")
_TOLD = 8
_sources: list[Launches] = []
_hooks: list[_Chained] = []


class _Chained:
    """A hook for uncaught exceptions that comes before another; inert once it is taken out."""

    def __init__(self, module: object, name: str) -> None:
        self.module, self.name, self.before, self.is_active = module, name, getattr(module, name), True
        setattr(module, name, self)

    def __call__(self, *args: object) -> None:
        error = args[1] if len(args) > 1 else getattr(args[0], "exc_value", None)  # sys.excepthook; threading's
        if self.is_active and isinstance(error, BaseException):
            add_note(error)
        self.before(*args)

    def take_out(self) -> None:
        self.is_active = False
        if getattr(self.module, self.name) is self:
            setattr(self.module, self.name, self.before)


def explain_error(error: BaseException, launches: Launches | None = None) -> str:
    """The note for an exception of any framework; "" where it tells of no HIP error of FAULTS."""
    name = "" if type(error).__module__.startswith("hipcompat.") else _find_name(_say(error))
    if not name:
        return ""
    code, phrase, meaning = FAULTS[name]
    lines = [f"hipcompat: {name} ({code}, {phrase}): {meaning}"]
    told = _list_launches(launches) if meaning is _LATE else []
    lines += ["kernels launched lately, the last one first:", *(f"  {line}" for line in told)] if told else []
    return "\n".join(lines)


def add_note(error: BaseException, launches: Launches | None = None) -> None:
    """Add the note to the exception, unless it has one. Never raises."""
    if not any(note.startswith("hipcompat: ") for note in getattr(error, "__notes__", ())):
        note = explain_error(error, launches)
        if note:
            error.add_note(note)


@contextmanager
def note_errors(launches: Launches | None = None) -> Iterator[None]:
    """What leaves the block as an exception that tells of a HIP error has a note; it is the same exception."""
    try:
        yield
    except Exception as error:
        add_note(error, launches)
        raise


def remember_launches(source: Launches) -> None:
    """Ask it whenever a note is written."""
    _sources.append(source)


def forget_launches(source: Launches) -> None:
    """Ask it no longer."""
    if source in _sources:
        _sources.remove(source)


def find_obstacle() -> str:
    """None: every Python has these hooks."""
    return ""


def list_targets() -> tuple[tuple[str, str], ...]:
    """Both hooks for uncaught exceptions."""
    what = "a HIP error that nobody catches is shown with a note"
    return (("sys.excepthook", what), ("threading.excepthook", what))


def put_in() -> None:
    """Before the hooks that are there now."""
    _hooks.extend([_Chained(sys, "excepthook"), _Chained(threading, "excepthook")])


def take_out() -> None:
    """Where another hook was put over ours, ours stays below it and does nothing."""
    while _hooks:
        _hooks.pop().take_out()


def _say(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # a stranger's __str__, while an exception is being shown
        return ""


def _find_name(text: str) -> str:
    names = (f"hipError{match['short']}" for match in _NAME.finditer(text))
    phrase = _PHRASE.search(text)
    by_phrase = _BY_PHRASE[phrase["phrase"].lower()] if phrase else ""
    return next((name for name in names if name in FAULTS), by_phrase)


def _list_launches(launches: Launches | None) -> list[str]:
    lines: list[str] = []
    for source in (*([launches] if launches else []), *_sources):
        try:
            lines += [str(line) for line in source()]
        except Exception:  # noqa: BLE001, S112  # a plugin's; the exception that is being shown is what counts
            continue
    return lines[:_TOLD]
