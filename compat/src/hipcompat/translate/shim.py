"""The folder of hipcompat's headers → clang's arguments that put them over unmodified CUDA source."""

from __future__ import annotations

from pathlib import Path

from hipcompat.paths import AnyPath, make_path

SHIM_PATH = Path(__file__).parents[1] / "include"
CMAKE_PATH = Path(__file__).parents[1] / "cmake" / "hipcompat.cmake"
"""CMake's toolchain file."""


def shim_arguments(folder_path: AnyPath = SHIM_PATH) -> tuple[str, ...]:
    """They come first on the command line: these headers go before all others, and nvcc includes one by itself."""
    return (
        f"-I{make_path(folder_path)}",
        "-D__HIP_NO_HOST_MIN_MAX_IN_GLOBAL_NAMESPACE__",  # runtime.h brings its own, which a file may define again
        "-DOCML_BASIC_ROUNDED_OPERATIONS",  # __fadd_rd and its like
        "-include",
        "cuda_runtime.h",
    )
