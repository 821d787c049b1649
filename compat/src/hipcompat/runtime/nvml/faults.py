"""A code of NVML, or an exception of amdsmi → an exception of pynvml's documented tree."""

from __future__ import annotations

import string
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self, cast

from hipcompat.runtime.nvml.names import read_names

_CODES = {name: number for name, number in read_names()[1].items() if name.startswith("NVML_ERROR_")}
(
    UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND, VERSION_MISMATCH,
    UNKNOWN,
) = (
    _CODES[f"NVML_ERROR_{word}"]
    for word in ("UNINITIALIZED", "INVALID_ARGUMENT", "NOT_SUPPORTED", "NOT_FOUND", "LIBRARY_NOT_FOUND",
                 "FUNCTION_NOT_FOUND", "ARGUMENT_VERSION_MISMATCH", "UNKNOWN")
)  # fmt: skip
_FROM_AMDSMI = {
    1: "INVALID_ARGUMENT", 2: "NOT_SUPPORTED", 3: "NOT_SUPPORTED", 8: "TIMEOUT", 10: "NO_PERMISSION", 15: "MEMORY",
    18: "DRIVER_NOT_LOADED", 30: "IN_USE", 31: "NOT_FOUND", 32: "UNINITIALIZED", 34: "DRIVER_NOT_LOADED", 40: "NO_DATA",
    41: "INSUFFICIENT_SIZE",
}  # fmt: skip
"""AMDSMI_STATUS_* (amdsmi.h of ROCm 7.0) → NVML_ERROR_*."""


class NVMLError(Exception):
    """`value` is NVML's code. NVMLError(3) gives an NVMLError_NotSupported, as in nvidia-ml-py."""

    value: int = UNKNOWN

    def __new__(cls, value: int | None = None) -> Self:
        """The subclass of the code."""
        kind = CLASSES.get(value, cls) if cls is NVMLError and value is not None else cls
        made = cast(Self, super().__new__(kind))
        if value is not None:
            made.value = value
        return made

    def __str__(self) -> str:
        return say_error(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NVMLError) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def _name_class(code_name: str) -> str:
    return f"NVMLError_{string.capwords(code_name.removeprefix('NVML_ERROR_'), '_').replace('_', '')}"


CLASSES: dict[int, type[NVMLError]] = {
    number: type(_name_class(name), (NVMLError,), {"value": number, "__module__": "pynvml"})
    for name, number in _CODES.items()
}
BY_NAME = {_name_class(name): CLASSES[number] for name, number in _CODES.items()}


def say_error(value: int) -> str:
    """A code's text, as NVML writes it where it is the code's name: Not Supported."""
    found = next((name for name, number in _CODES.items() if number == value), "")
    return string.capwords(found.removeprefix("NVML_ERROR_").replace("_", " ")) or f"NVML Error {value}"


def refuse() -> NVMLError:
    """What AMD's cards do not have, or what must not be made up."""
    return NVMLError(NOT_SUPPORTED)


@contextmanager
def faults_translated() -> Iterator[None]:
    """amdsmi's exceptions, by their code, as pynvml's; others as they are."""
    try:
        yield
    except Exception as fault:
        code = getattr(fault, "err_code", None)
        if code is None and type(fault).__module__.partition(".")[0] != "amdsmi":
            raise
        name = _FROM_AMDSMI.get(code, "UNKNOWN") if isinstance(code, int) else "INVALID_ARGUMENT"
        raise NVMLError(_CODES[f"NVML_ERROR_{name}"]) from fault
