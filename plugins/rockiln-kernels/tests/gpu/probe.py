"""libcuda.so.1 → Card, or NoCard with the reason. Python's own library alone: it is asked before anything is installed.

Functions and numbers are those of NVIDIA's CUDA Driver API reference (docs.nvidia.com/cuda/cuda-driver-api).
`python probe.py` prints the card, or one line and exit code 5.
"""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import byref, c_char_p, c_int
from dataclasses import dataclass

EXIT_NO_CARD = 5
"""As rockiln-kernels validate: nothing was run, so nothing is known."""
_MAJOR, _MINOR, _PROCESSORS = 75, 76, 16


class NoCard(Exception):  # noqa: N818  # a fact about the machine
    """Nothing can be run here; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The first GPU: its name as the driver has it, sm_NM, multiprocessors, and the driver's CUDA version."""

    name: str
    arch: str
    processors: int
    driver: str


def open_driver() -> ctypes.CDLL:
    """libcuda, or what ROCKILN_CUDA_LIBRARY names. Raises NoCard."""
    name = os.environ.get("ROCKILN_CUDA_LIBRARY", "libcuda.so.1")
    try:
        cuda = ctypes.CDLL(name)
    except OSError as error:
        raise NoCard(f"{name} cannot be opened ({error})") from error
    cuda.cuGetErrorString.argtypes = [c_int, ctypes.POINTER(c_char_p)]
    return cuda


def describe_error(cuda: ctypes.CDLL, call: str, error: int) -> str:
    """`cuInit: no CUDA-capable device is detected (100)`."""
    text = c_char_p()
    cuda.cuGetErrorString(error, byref(text))
    return f"{call}: {(text.value or b'unknown error').decode()} ({error})"


def find_card(wanted: str = "sm_90") -> Card:
    """The first GPU, if it runs cubins of `wanted`. Raises NoCard."""
    cuda = open_driver()
    if error := cuda.cuInit(0):
        raise NoCard(describe_error(cuda, "cuInit", error))
    count, version, name = c_int(), c_int(), ctypes.create_string_buffer(256)
    if error := cuda.cuDeviceGetCount(byref(count)):
        raise NoCard(describe_error(cuda, "cuDeviceGetCount", error))
    if not count.value:
        raise NoCard("the driver sees none")
    cuda.cuDriverGetVersion(byref(version))
    cuda.cuDeviceGetName(name, len(name), 0)
    major, minor, processors = (_read_attribute(cuda, which) for which in (_MAJOR, _MINOR, _PROCESSORS))
    card = Card(
        name=name.value.decode(),
        arch=f"sm_{major}{minor}",
        processors=processors,
        driver=f"CUDA {version.value // 1000}.{version.value % 1000 // 10}",
    )
    if card.arch != wanted:
        raise NoCard(f"{card.name} is {card.arch}, the cubins are for {wanted}")
    return card


def _read_attribute(cuda: ctypes.CDLL, which: int) -> int:
    value = c_int()
    if error := cuda.cuDeviceGetAttribute(byref(value), which, 0):
        raise NoCard(describe_error(cuda, "cuDeviceGetAttribute", error))
    return value.value


def main() -> int:
    """Print the card; 0, or EXIT_NO_CARD."""
    try:
        card = find_card()
    except NoCard as reason:
        print(f"no NVIDIA GPU: {reason}", file=sys.stderr)  # a program
        return EXIT_NO_CARD
    print(f"{card.name}, {card.arch}, {card.driver}")  # a program
    return 0


if __name__ == "__main__":
    sys.exit(main())
