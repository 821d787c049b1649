"""gfxemu executes AMD GPU code objects on a CPU and faults on what hardware would punish; docs/gfxemu.md."""

from gfxemu.codeobject import CodeObject, Kernel, load
from gfxemu.faults import (
    BadCodeObject,
    BadLaunch,
    Deadlock,
    Fault,
    GfxemuError,
    Hang,
    Misaligned,
    MissingWait,
    OutOfBounds,
    Race,
    RegisterBounds,
    UninitializedRead,
    UnknownOpcode,
    Unsupported,
    UnsupportedArch,
)
from gfxemu.launch import Counts, launch
from gfxemu.memory import Memory
from gfxemu.model import Estimate, estimate_time

__version__ = "0.1.0"
__all__ = [
    "BadCodeObject",
    "BadLaunch",
    "CodeObject",
    "Counts",
    "Deadlock",
    "Estimate",
    "Fault",
    "GfxemuError",
    "Hang",
    "Kernel",
    "Memory",
    "Misaligned",
    "MissingWait",
    "OutOfBounds",
    "Race",
    "RegisterBounds",
    "UninitializedRead",
    "UnknownOpcode",
    "Unsupported",
    "UnsupportedArch",
    "estimate_time",
    "launch",
    "load",
]
