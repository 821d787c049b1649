"""hipcompat: CUDA-minded code → what ROCm 7 makes of it; facts, findings and flags, and nothing faked."""

from importlib import import_module

TYPE_CHECKING = False
"""For type checkers, who know the name: importing typing would take most of the time that this module takes."""
if TYPE_CHECKING:
    from hipcompat import check, doctor, errors, facts, flags, runtime, scan, translate
    from hipcompat.runtime.archs import fp8_dtype, fp8_largest, warp_size
    from hipcompat.runtime.hip import open_hip
    from hipcompat.runtime.present import is_nvidia, list_archs, visible_devices

__version__ = "0.1.0"

__all__ = [
    "check", "doctor", "errors", "facts", "flags", "fp8_dtype", "fp8_largest", "is_nvidia", "list_archs", "open_hip",
    "runtime", "scan", "translate", "visible_devices", "warp_size",
]  # fmt: skip

_OFFERED = {
    "fp8_dtype": "archs", "fp8_largest": "archs", "is_nvidia": "present", "list_archs": "present", "open_hip": "hip",
    "visible_devices": "present", "warp_size": "archs",
}  # fmt: skip
"""Name → module of hipcompat.runtime; the other names are packages. All are imported at first use: `import hipcompat`
costs nothing."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'hipcompat' has no attribute {name!r}")
    if name in _OFFERED:
        return getattr(import_module(f"hipcompat.runtime.{_OFFERED[name]}"), name)
    return import_module(f"hipcompat.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
