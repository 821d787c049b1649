"""Every documented name of pynvml → a module: answered by amdsmi, or raising NVMLError_NotSupported."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from hipcompat.runtime.nvml import faults
from hipcompat.runtime.nvml.answers import TEMPERATURE_V1, Answers, read_process_name
from hipcompat.runtime.nvml.names import read_names
from hipcompat.runtime.nvml.session import Session

_DEVICE = {
    "GetHandleByIndex": "get_handle_by_index", "GetHandleByUUID": "get_handle_by_uuid",
    "GetHandleBySerial": "get_handle_by_serial", "GetHandleByPciBusId": "get_handle_by_address",
    "GetName": "get_name", "GetUUID": "get_uuid", "GetSerial": "get_serial", "GetIndex": "get_index",
    "GetBoardPartNumber": "get_board_part_number", "GetVbiosVersion": "get_vbios_version",
    "GetNumaNodeId": "get_numa_node", "GetCpuAffinity": "get_cpu_affinity",
    "GetCpuAffinityWithinScope": "get_cpu_affinity_within", "GetP2PStatus": "get_peer_status",
    "GetPciInfo": "get_pci_info", "GetPciInfo_v3": "get_pci_info",
    "GetMemoryInfo": "get_memory_info", "GetBAR1MemoryInfo": "get_bar1_info",
    "GetMemoryBusWidth": "get_memory_bus_width", "GetUtilizationRates": "get_utilization",
    "GetTemperature": "get_temperature", "GetTemperatureV1": "get_temperature",
    "GetTemperatureV": "get_temperature_by_version", "GetTemperatureThreshold": "get_temperature_threshold",
    "GetPowerUsage": "get_power", "GetPowerManagementLimit": "get_power_limit",
    "GetEnforcedPowerLimit": "get_power_limit", "GetPowerManagementDefaultLimit": "get_default_power_limit",
    "GetPowerManagementLimitConstraints": "get_power_limits", "GetTotalEnergyConsumption": "get_energy",
    "GetClockInfo": "get_clock", "GetClock": "get_clock", "GetMaxClockInfo": "get_max_clock",
    "GetFanSpeed": "get_fan_speed", "GetFanSpeed_v2": "get_fan_speed", "GetFanSpeedRPM": "get_fan_rpm",
    "GetCurrPcieLinkGeneration": "get_link_generation", "GetMaxPcieLinkGeneration": "get_max_link_generation",
    "GetGpuMaxPcieLinkGeneration": "get_max_link_generation",
    "GetCurrPcieLinkWidth": "get_link_width", "GetMaxPcieLinkWidth": "get_max_link_width",
    "GetPcieReplayCounter": "get_replays", "GetTotalEccErrors": "get_ecc_errors",
    "GetComputeRunningProcesses": "get_processes", "GetComputeRunningProcesses_v2": "get_processes",
    "GetComputeRunningProcesses_v3": "get_processes",
}  # fmt: skip
"""nvmlDevice… → Answers' method. What is not here is not supported; docs/compat-runtime.md says why."""

_PARAMETERS: dict[str, tuple[str, ...]] = {
    "GetHandleByIndex": ("index",),
    "GetHandleByUUID": ("uuid",),
    "GetHandleBySerial": ("serial",),
    "GetHandleByPciBusId": ("pciBusId",),
    "GetMemoryInfo": ("handle", "version"),
    "GetMemoryBusWidth": ("device",),
    "GetTemperature": ("handle", "sensor"),
    "GetTemperatureV1": ("handle", "sensor"),
    "GetTemperatureV": ("handle", "sensor", "version"),
    "GetTemperatureThreshold": ("handle", "threshold"),
    "GetClockInfo": ("handle", "type"),
    "GetClock": ("handle", "type", "id"),
    "GetMaxClockInfo": ("handle", "type"),
    "GetFanSpeed_v2": ("handle", "fan"),
    "GetTotalEccErrors": ("handle", "errorType", "counterType"),
    "GetCpuAffinity": ("handle", "cpuSetSize"),
    "GetCpuAffinityWithinScope": ("handle", "cpuSetSize", "scope"),
    "GetP2PStatus": ("device1", "device2", "p2pIndex"),
}
"""nvmlDevice… → its parameters as nvidia-ml-py names them, which programs may pass by name; the others: handle."""
_DEFAULTS: dict[str, object] = {"GetMemoryInfo": None, "GetTemperatureV": TEMPERATURE_V1}
"""The last parameter's."""


class FriendlyObject:
    """nvidia-ml-py's nvmlFriendlyObject: a structure's fields as attributes."""

    def __init__(self, dictionary: Mapping[str, object]) -> None:
        vars(self).update(dictionary)

    def __str__(self) -> str:
        return str(vars(self))


def make_module(name: str) -> ModuleType:
    """A module with all 433 functions and 1,614 numbers, and a state of its own."""
    functions, constants = read_names()
    session = Session()
    module = ModuleType(name, "pynvml's interface over amdsmi (hipcompat): AMD's GPUs, and nothing made up.")
    members: dict[str, object] = {function: _make_refusal(function, session) for function in functions}
    members |= constants | make_values() | {"NVMLError": faults.NVMLError, **faults.BY_NAME}
    members |= {"nvmlFriendlyObject": FriendlyObject, "NVMLLibraryMismatchError": type(
        "NVMLLibraryMismatchError", (Exception,), {"__module__": "pynvml"}
    )}  # fmt: skip
    members |= make_answers(session)
    vars(module).update(members)
    module.__version__ = "hipcompat"  # type: ignore[attr-defined]  # modules take any name
    return module


def make_answers(session: Session) -> dict[str, Callable[..., Any]]:
    """The functions that have an answer."""
    answers = Answers(session)
    found = {
        f"nvmlDevice{short}": _declare(f"nvmlDevice{short}", getattr(answers, method), _make_signature(short))
        for short, method in _DEVICE.items()
    }
    others: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
        "nvmlInit": (session.open, ()),
        "nvmlInitWithFlags": (lambda _: session.open(), ("flags",)),  # flags choose among NVIDIA's GPUs
        "nvmlShutdown": (session.close, ()),
        "nvmlErrorString": (faults.say_error, ("result",)),
        "nvmlExceptionClass": (_find_class, ("nvmlErrorCode",)),
        "nvmlStructToFriendlyObject": (lambda struct: FriendlyObject(vars(struct)), ("struct",)),
        "nvmlFriendlyObjectToStruct": (_fill_struct, ("obj", "model")),
        "nvmlDeviceGetCount": (lambda: len(session.devices), ()),
        "nvmlSystemGetProcessName": (lambda pid: read_process_name(session, pid), ("pid",)),
    }
    return found | {name: _declare(name, call, _list_parameters(names)) for name, (call, names) in others.items()}


def make_values() -> dict[str, object]:
    """Names that are no plain numbers in nvidia-ml-py: ctypes' values of what is not known, and formats of addresses.

    NVML_P2P_CAPS_INDEX_READ and the licences' expiry are tuples there, by a comma too many; here they are the numbers.
    """
    expiry = ("NOT_AVAILABLE", "INVALID", "VALID", "NOT_APPLICABLE", "PERMANENT")
    return {
        "NVML_SUCCESS": 0, "NVML_P2P_CAPS_INDEX_READ": 0,
        "NVML_VALUE_NOT_AVAILABLE_uint": ctypes.c_uint(-1),
        "NVML_VALUE_NOT_AVAILABLE_ulonglong": ctypes.c_ulonglong(-1),
        "NVML_DEVICE_PCI_BUS_ID_FMT": "%08X:%02X:%02X.0", "NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT": "%04X:%02X:%02X.0",
        **{f"NVML_GRID_LICENSE_EXPIRY_{word}": number for number, word in enumerate(expiry)},
    }  # fmt: skip


def _make_signature(short: str) -> list[inspect.Parameter]:
    parameters = _list_parameters(_PARAMETERS.get(short, ("handle",)))
    if short in _DEFAULTS:
        parameters[-1] = parameters[-1].replace(default=_DEFAULTS[short])
    return parameters


def _list_parameters(names: Sequence[str]) -> list[inspect.Parameter]:
    return [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]


def _declare(name: str, answer: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> Callable[..., Any]:
    """`answer` under its documented name, with the documented parameters in that order."""
    signature = inspect.Signature(parameters)

    def call(*args: object, **keywords: object) -> Any:  # what amdsmi says
        bound = signature.bind(*args, **keywords)  # TypeError as Python says it
        bound.apply_defaults()
        return answer(*bound.args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = answer.__doc__
    call.__signature__ = signature  # type: ignore[attr-defined]  # inspect reads it
    return call


def _make_refusal(name: str, session: Session) -> Callable[..., Any]:
    def refuse(*args: object, **kwargs: object) -> None:  # noqa: ARG001  # whatever it is asked
        session.require()
        raise faults.refuse()

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "AMD's GPUs have nothing of this name: NVMLError_NotSupported."
    return refuse


def _find_class(code: int) -> type[faults.NVMLError]:
    if code not in faults.CLASSES:
        raise ValueError(f"nvmlErrorCode {code} is not valid")
    return faults.CLASSES[code]


def _fill_struct(friendly: object, model: object) -> object:
    for key, value in vars(friendly).items():
        setattr(model, key, value)
    return model
