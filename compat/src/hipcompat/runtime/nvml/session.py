"""amdsmi, once it is initialized → handles of its GPUs; the state between nvmlInit and nvmlShutdown."""

from __future__ import annotations

import importlib
import threading
from dataclasses import dataclass, field
from typing import Any

from hipcompat.runtime.nvml.faults import (
    FUNCTION_NOT_FOUND,
    INVALID_ARGUMENT,
    LIBRARY_NOT_FOUND,
    UNINITIALIZED,
    NVMLError,
    faults_translated,
)


@dataclass(frozen=True, slots=True)
class Device:
    """What a program gets as a handle. Equal for the same GPU."""

    index: int
    handle: Any = field(repr=False, compare=False)


class Session:
    """Counts nvmlInit as NVML does: the last nvmlShutdown ends it."""

    def __init__(self) -> None:
        self._smi: Any = None
        self._count = 0
        self._lock = threading.Lock()
        self._devices: tuple[Device, ...] = ()

    def open(self) -> None:
        """NVMLError_LibraryNotFound where amdsmi or its library is missing. Nothing stays open where it fails."""
        with self._lock:
            if not self._count:
                self._start()
            self._count += 1

    def _start(self) -> None:
        try:
            smi = importlib.import_module("amdsmi")
        except (ImportError, KeyError, OSError, AttributeError) as fault:  # KeyError: amdsmi without libamd_smi.so
            raise NVMLError(LIBRARY_NOT_FOUND) from fault
        with faults_translated():
            smi.amdsmi_init()
            try:
                handles = smi.amdsmi_get_processor_handles()
            except BaseException:
                smi.amdsmi_shut_down()
                raise
        self._smi = smi
        self._devices = tuple(Device(index, handle) for index, handle in enumerate(handles))

    def close(self) -> None:
        """NVMLError_Uninitialized without an open()."""
        with self._lock:
            self.require()
            self._count -= 1
            if not self._count:
                smi, self._smi, self._devices = self._smi, None, ()
                with faults_translated():
                    smi.amdsmi_shut_down()

    def require(self) -> None:
        """NVMLError_Uninitialized before nvmlInit."""
        if not self._count:
            raise NVMLError(UNINITIALIZED)

    @property
    def devices(self) -> tuple[Device, ...]:
        """In amdsmi's order, which is the bus's; *_VISIBLE_DEVICES do not count, as they do not for NVML."""
        self.require()
        return self._devices

    @property
    def smi(self) -> Any:  # a module without types
        """The amdsmi module."""
        self.require()
        return self._smi

    def ask(self, name: str, device: object, *args: object) -> Any:  # what amdsmi says
        """Call amdsmi_NAME for a device; of more devices among `args`, their handles.

        NVMLError_InvalidArgument for what is no handle, NVMLError_FunctionNotFound where this amdsmi has no such call.
        """
        self.require()
        if not isinstance(device, Device):
            raise NVMLError(INVALID_ARGUMENT)
        function = getattr(self._smi, f"amdsmi_{name}", None)
        if function is None:
            raise NVMLError(FUNCTION_NOT_FOUND)
        with faults_translated():
            return function(device.handle, *(arg.handle if isinstance(arg, Device) else arg for arg in args))
