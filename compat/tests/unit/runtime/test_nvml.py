"""pynvml over a fake amdsmi: what AMD has, right; what it has not, NVMLError_NotSupported; every documented name."""

from __future__ import annotations

import ast
import os
import re
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pynvml as documented  # nvidia-ml-py, whose functions are the documentation
import pytest

from fake_amdsmi import GIB, NAMES, FakeSmi, make_amdsmi
from hipcompat.runtime.nvml.module import make_answers, make_module
from hipcompat.runtime.nvml.names import read_names
from hipcompat.runtime.nvml.session import Session


@pytest.fixture
def smi(monkeypatch: pytest.MonkeyPatch) -> FakeSmi:
    module, fake = make_amdsmi()
    monkeypatch.setitem(sys.modules, "amdsmi", module)
    return fake


@pytest.fixture
def nvml(smi: FakeSmi) -> Any:
    assert not smi.is_open
    module = make_module("pynvml")
    module.nvmlInit()
    return module


ANSWERED = sorted(make_answers(Session()))
FUNCTIONS = sorted(
    name for name, value in vars(documented).items()
    if name.startswith("nvml") and callable(value) and not isinstance(value, type)
)  # fmt: skip


def test_every_documented_function_and_number_is_here(nvml: ModuleType) -> None:
    assert sorted(read_names()[0]) == FUNCTIONS
    numbers = {
        name: value for name, value in vars(documented).items()
        if name.startswith(("NVML_", "nvml")) and isinstance(value, int)
    }  # fmt: skip
    assert read_names()[1] == numbers
    assert not [name for name in (*FUNCTIONS, *numbers) if not hasattr(nvml, name)]
    assert not [name for name in ANSWERED if name not in FUNCTIONS]


def test_every_error_class_is_here(nvml: Any) -> None:
    classes = [name for name in vars(documented) if name.startswith("NVMLError")]
    assert len(classes) > 25
    for name in classes:
        assert issubclass(getattr(nvml, name), nvml.NVMLError)
        if name != "NVMLError":
            assert getattr(nvml, name)().value == getattr(documented, name)().value
    assert type(nvml.NVMLError(3)) is nvml.NVMLError_NotSupported
    assert nvml.nvmlExceptionClass(6) is nvml.NVMLError_NotFound
    with pytest.raises(ValueError, match="not valid"):
        nvml.nvmlExceptionClass(12345)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ANSWERED])
def test_what_amd_has_not_is_not_supported(name: str, nvml: Any) -> None:
    with pytest.raises(nvml.NVMLError_NotSupported):
        getattr(nvml, name)(nvml.nvmlDeviceGetHandleByIndex(0))


@pytest.mark.parametrize(
    "name",
    ["nvmlSystemGetCudaDriverVersion", "nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion",
     "nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetArchitecture", "nvmlDeviceGetMigMode",
     "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNumGpuCores", "nvmlDeviceGetBrand"],
)  # fmt: skip
def test_nothing_of_nvidia_is_made_up(name: str) -> None:
    assert name in FUNCTIONS
    assert name not in ANSWERED


CASES: tuple[tuple[str, tuple[object, ...], object, object], ...] = (
    ("nvmlDeviceGetName", (), "AMD Instinct MI300X", "AMD Radeon RX 7900 XTX"),
    ("nvmlDeviceGetUUID", (), "GPU-0000000000000064", "GPU-0000000000000065"),
    ("nvmlDeviceGetSerial", (), "69", None),
    ("nvmlDeviceGetBoardPartNumber", (), "102-G30211", "102-G30211"),
    ("nvmlDeviceGetVbiosVersion", (), "113-M3000100-102", "113-M3000100-102"),
    ("nvmlDeviceGetIndex", (), 0, 1),
    ("nvmlDeviceGetNumaNodeId", (), 0, 1),
    ("nvmlDeviceGetMemoryBusWidth", (), 8192, 8192),
    ("nvmlDeviceGetTemperature", (0,), 50, 40),  # the first has no edge sensor: its hot spot
    ("nvmlDeviceGetTemperatureThreshold", (0,), 57, 57),
    ("nvmlDeviceGetTemperatureThreshold", (1,), 55, 55),
    ("nvmlDeviceGetTemperatureThreshold", (2,), 75, 75),
    ("nvmlDeviceGetTemperatureThreshold", (4,), None, None),
    ("nvmlDeviceGetPowerUsage", (), 350_000, 120_000),  # milliwatts
    ("nvmlDeviceGetPowerManagementLimit", (), 750_000, 750_000),
    ("nvmlDeviceGetEnforcedPowerLimit", (), 750_000, 750_000),
    ("nvmlDeviceGetPowerManagementDefaultLimit", (), 700_000, 700_000),
    ("nvmlDeviceGetPowerManagementLimitConstraints", (), [0, 760_000], [0, 760_000]),
    ("nvmlDeviceGetTotalEnergyConsumption", (), 15_300, 15_300),  # 1e6 * 15.3 microjoules
    ("nvmlDeviceGetClockInfo", (0,), 1200, 1200),
    ("nvmlDeviceGetClockInfo", (1,), 1200, 1200),
    ("nvmlDeviceGetClockInfo", (2,), 1204, 1204),
    ("nvmlDeviceGetClockInfo", (3,), 1207, 1207),
    ("nvmlDeviceGetClock", (2, 0), 1204, 1204),
    ("nvmlDeviceGetClock", (2, 1), None, None),
    ("nvmlDeviceGetMaxClockInfo", (0,), 2100, 2100),
    ("nvmlDeviceGetFanSpeed", (), None, 25),
    ("nvmlDeviceGetFanSpeed_v2", (0,), None, 25),
    ("nvmlDeviceGetCurrPcieLinkGeneration", (), 4, 4),
    ("nvmlDeviceGetMaxPcieLinkGeneration", (), 5, 5),
    ("nvmlDeviceGetCurrPcieLinkWidth", (), 8, 8),
    ("nvmlDeviceGetMaxPcieLinkWidth", (), 16, 16),
    ("nvmlDeviceGetPcieReplayCounter", (), 7, 7),
    ("nvmlDeviceGetTotalEccErrors", (0, 0), 5, 5),
    ("nvmlDeviceGetTotalEccErrors", (1, 0), 1, 1),
    ("nvmlDeviceGetTotalEccErrors", (1, 1), None, None),
)
"""Function, arguments, the answer for each card; None: not supported."""


@pytest.mark.parametrize(("name", "args", "first", "second"), CASES)
def test_answer_is_right(name: str, args: tuple[object, ...], first: object, second: object, nvml: Any) -> None:
    for index, wanted in enumerate((first, second)):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        if wanted is None:
            with pytest.raises(nvml.NVMLError_NotSupported):
                getattr(nvml, name)(handle, *args)
        else:
            assert getattr(nvml, name)(handle, *args) == wanted


def test_every_answered_device_function_is_in_a_test() -> None:
    source = Path(__file__).read_text()
    assert not [name for name in ANSWERED if re.sub(r"_v\d$", "", name) not in source]


def test_memory(nvml: Any) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    assert (memory.total, memory.used, memory.free) == (192 * GIB, 3 * GIB, 189 * GIB)
    assert nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2).reserved == 0
    assert nvml.nvmlDeviceGetBAR1MemoryInfo(handle).bar1Total == GIB // 4


def test_utilization(nvml: Any) -> None:
    rates = nvml.nvmlDeviceGetUtilizationRates(nvml.nvmlDeviceGetHandleByIndex(0))
    assert (rates.gpu, rates.memory) == (87, 12)
    with pytest.raises(nvml.NVMLError_NotSupported):  # a number that amdsmi does not have is no zero
        nvml.nvmlDeviceGetUtilizationRates(nvml.nvmlDeviceGetHandleByIndex(1))


@pytest.mark.parametrize("name", ["nvmlDeviceGetPciInfo", "nvmlDeviceGetPciInfo_v3"])
def test_place_on_the_bus(name: str, nvml: Any) -> None:
    pci = getattr(nvml, name)(nvml.nvmlDeviceGetHandleByIndex(1))
    assert (pci.domain, pci.bus, pci.device, pci.busId) == (1, 0xC1, 0, "00000001:C1:00.0")
    assert pci.pciDeviceId == 0x74A11002
    assert pci.pciSubSystemId == 0x74A11002


def test_handles_are_found_by_every_name(nvml: Any) -> None:
    assert nvml.nvmlDeviceGetCount() == 2
    second = nvml.nvmlDeviceGetHandleByIndex(1)
    assert nvml.nvmlDeviceGetHandleByUUID("gpu-0000000000000065") == second
    assert nvml.nvmlDeviceGetHandleByPciBusId("00000001:C1:00.0") == second
    assert nvml.nvmlDeviceGetHandleByPciBusId(b"0001:c1:00.0") == second
    assert nvml.nvmlDeviceGetHandleByPciBusId("05:00.0") == nvml.nvmlDeviceGetHandleByIndex(0)
    assert nvml.nvmlDeviceGetHandleBySerial("69") == nvml.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(nvml.NVMLError_NotFound):
        nvml.nvmlDeviceGetHandleByPciBusId("0000:c1:00.0")
    for bad in (2, -1, "0"):
        with pytest.raises(nvml.NVMLError_InvalidArgument):
            nvml.nvmlDeviceGetHandleByIndex(bad)
    with pytest.raises(nvml.NVMLError_InvalidArgument):
        nvml.nvmlDeviceGetName(7)


@pytest.mark.parametrize("version", ["", "_v2", "_v3"])
def test_processes(version: str, nvml: Any) -> None:
    found = getattr(nvml, f"nvmlDeviceGetComputeRunningProcesses{version}")(nvml.nvmlDeviceGetHandleByIndex(0))
    assert [(one.pid, one.usedGpuMemory) for one in found] == [(42, 2 * GIB)]
    assert nvml.nvmlSystemGetProcessName(os.getpid())
    with pytest.raises(nvml.NVMLError_NotFound):
        nvml.nvmlSystemGetProcessName(2**22 + 1)


def test_nothing_answers_before_init_and_after_the_last_shutdown(smi: FakeSmi) -> None:
    nvml: Any = make_module("pynvml")
    for call in (nvml.nvmlDeviceGetCount, nvml.nvmlShutdown, nvml.nvmlSystemGetDriverVersion):
        with pytest.raises(nvml.NVMLError_Uninitialized):
            call()
    nvml.nvmlInit()
    nvml.nvmlInitWithFlags(0)
    nvml.nvmlShutdown()
    assert nvml.nvmlDeviceGetCount() == 2
    nvml.nvmlShutdown()
    assert not smi.is_open
    with pytest.raises(nvml.NVMLError_Uninitialized):
        nvml.nvmlDeviceGetCount()


@pytest.mark.parametrize(
    ("status", "name"),
    [(2, "NotSupported"), (10, "NoPermission"), (31, "NotFound"), (8, "Timeout"), (30, "InUse"), (77, "Unknown")],
)
def test_amdsmis_errors_keep_their_meaning(status: int, name: str, smi: FakeSmi, nvml: Any) -> None:
    smi.refused["get_gpu_activity"] = status
    with pytest.raises(getattr(nvml, f"NVMLError_{name}")):
        nvml.nvmlDeviceGetUtilizationRates(nvml.nvmlDeviceGetHandleByIndex(0))


def test_missing_amdsmi_is_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    nvml: Any = make_module("pynvml")
    with pytest.raises(nvml.NVMLError_LibraryNotFound, match="Library not found"):
        nvml.nvmlInit()


def test_friendly_objects(nvml: Any) -> None:
    memory = nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByIndex(0))
    friendly = nvml.nvmlStructToFriendlyObject(memory)
    friendly.used = 1
    assert nvml.nvmlFriendlyObjectToStruct(friendly, memory).used == 1
    assert nvml.nvmlErrorString(3) == "Not supported"


@pytest.mark.network
def test_fake_amdsmi_has_the_real_ones_functions_and_keys(tmp_path: Path) -> None:
    import subprocess

    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(tmp_path),
        "amdsmi==7.0.2",
    ]
    subprocess.run(command, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        tree = ast.parse(wheel.read("amdsmi/amdsmi_interface.py"))
    real = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    fake = FakeSmi()
    for name in NAMES:
        node = real[f"amdsmi_{name}"]
        required = [one.arg for one in node.args.args[: len(node.args.args) - len(node.args.defaults)]]
        method: Any = getattr(FakeSmi, name)
        assert required == list(method.__code__.co_varnames[1 : method.__code__.co_argcount]), name
        if required != ["processor_handle"]:
            continue
        answer = getattr(fake, name)(101)
        keys = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}
        for part in answer if isinstance(answer, list) else [answer] if isinstance(answer, dict) else []:
            wanted = set(part).union(*(value for value in part.values() if isinstance(value, dict)))
            assert wanted <= keys, name
