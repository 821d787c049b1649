"""hipcompat: CUDA-minded code → what ROCm 7 makes of it; facts, findings and flags, and nothing faked."""

from importlib import import_module

__version__ = "0.1.0"

_OFFERED = {
    "fp8_dtype": "archs", "fp8_largest": "archs", "is_nvidia": "present", "list_archs": "present", "open_hip": "hip",
    "visible_devices": "present", "warp_size": "archs",
}  # fmt: skip
"""Name → module of hipcompat.runtime: imported at first use, so that `import hipcompat` costs nothing."""


def __getattr__(name: str) -> object:
    if name not in _OFFERED:
        raise AttributeError(f"module 'hipcompat' has no attribute {name!r}")
    return getattr(import_module(f"hipcompat.runtime.{_OFFERED[name]}"), name)
