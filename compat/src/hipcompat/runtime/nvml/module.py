"""Every documented name of pynvml → a module: answered by amdsmi, or raising NVMLError_NotSupported."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from hipcompat.runtime.nvml import faults
from hipcompat.runtime.nvml.answers import Answers, read_process_name
from hipcompat.runtime.nvml.names import read_names
from hipcompat.runtime.nvml.session import Session

_DEVICE = {
    "GetHandleByIndex": "get_handle_by_index", "GetHandleByUUID": "get_handle_by_uuid",
    "GetHandleBySerial": "get_handle_by_serial", "GetHandleByPciBusId": "get_handle_by_address",
    "GetName": "get_name", "GetUUID": "get_uuid", "GetSerial": "get_serial", "GetIndex": "get_index",
    "GetBoardPartNumber": "get_board_part_number", "GetVbiosVersion": "get_vbios_version",
    "GetNumaNodeId": "get_numa_node", "GetPciInfo": "get_pci_info", "GetPciInfo_v3": "get_pci_info",
    "GetMemoryInfo": "get_memory_info", "GetBAR1MemoryInfo": "get_bar1_info",
    "GetMemoryBusWidth": "get_memory_bus_width", "GetUtilizationRates": "get_utilization",
    "GetTemperature": "get_temperature", "GetTemperatureThreshold": "get_temperature_threshold",
    "GetPowerUsage": "get_power", "GetPowerManagementLimit": "get_power_limit",
    "GetEnforcedPowerLimit": "get_power_limit", "GetPowerManagementDefaultLimit": "get_default_power_limit",
    "GetPowerManagementLimitConstraints": "get_power_limits", "GetTotalEnergyConsumption": "get_energy",
    "GetClockInfo": "get_clock", "GetClock": "get_clock", "GetMaxClockInfo": "get_max_clock",
    "GetFanSpeed": "get_fan_speed", "GetFanSpeed_v2": "get_fan_speed",
    "GetCurrPcieLinkGeneration": "get_link_generation", "GetMaxPcieLinkGeneration": "get_max_link_generation",
    "GetCurrPcieLinkWidth": "get_link_width", "GetMaxPcieLinkWidth": "get_max_link_width",
    "GetPcieReplayCounter": "get_replays", "GetTotalEccErrors": "get_ecc_errors",
    "GetComputeRunningProcesses": "get_processes", "GetComputeRunningProcesses_v2": "get_processes",
    "GetComputeRunningProcesses_v3": "get_processes",
}  # fmt: skip
"""nvmlDevice… → Answers' method. What is not here is not supported; docs/compat-runtime.md says why."""


def make_module(name: str) -> ModuleType:
    """A module with all 433 functions and 1,601 numbers, and a state of its own."""
    functions, constants = read_names()
    session = Session()
    module = ModuleType(name, "pynvml's interface over amdsmi (hipcompat): AMD's GPUs, and nothing made up.")
    members: dict[str, object] = {function: _make_refusal(function, session) for function in functions}
    members |= constants | {"NVML_SUCCESS": 0, "NVMLError": faults.NVMLError, **faults.BY_NAME}
    members |= make_answers(session)
    vars(module).update(members)
    module.__version__ = "hipcompat"  # type: ignore[attr-defined]  # modules take any name
    return module


def make_answers(session: Session) -> dict[str, Callable[..., Any]]:
    """The functions that have an answer."""
    answers = Answers(session)
    found: dict[str, Callable[..., Any]] = {
        f"nvmlDevice{short}": getattr(answers, method) for short, method in _DEVICE.items()
    }
    return found | {
        "nvmlInit": session.open,
        "nvmlInitWithFlags": lambda flags: session.open(),  # noqa: ARG005  # flags choose among NVIDIA's GPUs
        "nvmlShutdown": session.close,
        "nvmlErrorString": faults.say_error,
        "nvmlExceptionClass": _find_class,
        "nvmlStructToFriendlyObject": lambda struct: SimpleNamespace(**vars(struct)),
        "nvmlFriendlyObjectToStruct": _fill_struct,
        "nvmlDeviceGetCount": lambda: len(session.devices),
        "nvmlSystemGetProcessName": lambda pid: read_process_name(session, pid),
    }


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
