"""libamdhip64 → its calls, whose errors are exceptions that name call, kernel and argument."""

from hipcompat.runtime.hip.faults import HipError, KernelFaultError, PendingError
from hipcompat.runtime.hip.library import Hip, open_hip

__all__ = ["Hip", "HipError", "KernelFaultError", "PendingError", "open_hip"]
