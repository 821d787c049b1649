"""pynvml over a fake amdsmi: what AMD has, right; what it has not, NVMLError_NotSupported; every documented name."""

from __future__ import annotations

import ast
import ctypes
import inspect
import os
import re
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pynvml as documented  # nvidia-ml-py, whose functions are the documentation
import pytest

from fake_amdsmi import GIB, NAMES, FakeSmi, make_amdsmi
from hipcompat.runtime.nvml.faults import say_error
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
        if isinstance(value, int) and not name.startswith(("_", "RTLD_")) and not hasattr(ctypes, name)
    }  # fmt: skip
    assert read_names()[1] == numbers
    assert (len(FUNCTIONS), len(numbers)) == (433, 1614)  # as the page says
    assert not [name for name in (*FUNCTIONS, *numbers) if not hasattr(nvml, name)]
    assert not [name for name in ANSWERED if name not in FUNCTIONS]


def test_every_other_value_of_nvml_is_here(nvml: Any) -> None:
    others = {name: value for name, value in vars(documented).items()
              if name.startswith("NVML_") and not isinstance(value, int)}  # fmt: skip
    assert len(others) == 10
    for name, value in others.items():
        wanted = value[0] if isinstance(value, tuple) else getattr(value, "value", value)  # one comma too many there
        assert getattr(getattr(nvml, name), "value", getattr(nvml, name)) == wanted, name
    assert ctypes.sizeof(nvml.NVML_VALUE_NOT_AVAILABLE_ulonglong) == 8
    assert issubclass(nvml.NVMLLibraryMismatchError, Exception)


@pytest.mark.parametrize("name", ANSWERED)
def test_parameters_are_the_documented_ones(name: str, nvml: Any) -> None:
    ours, theirs = (inspect.signature(getattr(module, name)) for module in (nvml, documented))
    assert [(one.name, one.default, one.kind) for one in ours.parameters.values()] == [
        (one.name, one.default, one.kind) for one in theirs.parameters.values()
    ]
    assert getattr(nvml, name).__name__ == name
    with pytest.raises(TypeError):
        getattr(nvml, name)(*range(9))


def test_arguments_may_be_given_by_name(nvml: Any) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(index=0)
    assert nvml.nvmlDeviceGetClockInfo(handle=handle, type=nvml.NVML_CLOCK_MEM) == 1204
    assert nvml.nvmlDeviceGetTotalEccErrors(handle, counterType=0, errorType=1) == 1
    assert nvml.nvmlDeviceGetHandleByPciBusId(pciBusId="0000:05:00.0") == handle
    assert nvml.nvmlDeviceGetMemoryInfo(handle, version=0).total == 192 * GIB
    with pytest.raises(nvml.NVMLError_ArgumentVersionMismatch):
        nvml.nvmlDeviceGetMemoryInfo(handle, version=7)


def test_error_texts_that_are_the_codes_name_are_nvmls() -> None:
    texts = documented.NVMLError._errcode_to_string
    same = {code for code, text in texts.items() if say_error(code) == text}
    wanted = "Not Supported, Not Found, Invalid Argument, Uninitialized, Timeout, Driver Not Loaded, Function Not Found"
    assert {texts[code] for code in same} >= {*wanted.split(", ")}


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
    ("nvmlDeviceGetTemperatureV", (0,), 50, 40),
    ("nvmlDeviceGetTemperatureV1", (0,), 50, 40),
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
    ("nvmlDeviceGetFanSpeedRPM", (), None, 1500),
    ("nvmlDeviceGetGpuMaxPcieLinkGeneration", (), 5, 5),
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
    assert nvml.nvmlDeviceGetHandleByIndex(np.int64(1)) == second
    for bad in (2, -1, "0", None, 0.5):
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
    with pytest.raises(nvml.NVMLError_LibraryNotFound, match="Library Not Found"):
        nvml.nvmlInit()


def test_friendly_objects(nvml: Any) -> None:
    memory = nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByIndex(0))
    friendly = nvml.nvmlStructToFriendlyObject(memory)
    friendly.used = 1
    assert nvml.nvmlFriendlyObjectToStruct(friendly, memory).used == 1
    assert nvml.nvmlErrorString(3) == "Not Supported"


def test_cpus_near_to_a_card(nvml: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "0000:05:00.0").mkdir()
    (tmp_path / "0000:05:00.0" / "local_cpulist").write_text("0-2,63,64,66-67,300\n")
    monkeypatch.setattr("hipcompat.runtime.nvml.affinity.DEVICES_PATH", tmp_path)
    first, second = map(nvml.nvmlDeviceGetHandleByIndex, range(2))
    words = nvml.nvmlDeviceGetCpuAffinity(first, 2)
    assert [*words] == [0b111 | 1 << 63, 0b1101]
    assert isinstance(words, ctypes.Array)
    assert [*nvml.nvmlDeviceGetCpuAffinityWithinScope(first, 1, nvml.NVML_AFFINITY_SCOPE_NODE)] == [0b111 | 1 << 63]
    for call in (
        lambda: nvml.nvmlDeviceGetCpuAffinityWithinScope(first, 1, nvml.NVML_AFFINITY_SCOPE_SOCKET),
        lambda: nvml.nvmlDeviceGetCpuAffinity(second, 2),  # of which the kernel says nothing
    ):
        with pytest.raises(nvml.NVMLError_NotSupported):
            call()
    with pytest.raises(nvml.NVMLError_InvalidArgument):
        nvml.nvmlDeviceGetCpuAffinity(first, 0)


def test_gpus_that_reach_each_other(nvml: Any) -> None:
    first, second = map(nvml.nvmlDeviceGetHandleByIndex, range(2))
    for kind in (nvml.NVML_P2P_CAPS_INDEX_READ, nvml.NVML_P2P_CAPS_INDEX_WRITE, documented.NVML_P2P_CAPS_INDEX_READ):
        assert nvml.nvmlDeviceGetP2PStatus(first, second, kind) == nvml.NVML_P2P_STATUS_OK
        assert nvml.nvmlDeviceGetP2PStatus(second, first, kind) == nvml.NVML_P2P_STATUS_NOT_SUPPORTED
    with pytest.raises(nvml.NVMLError_NotSupported):
        nvml.nvmlDeviceGetP2PStatus(first, second, nvml.NVML_P2P_CAPS_INDEX_NVLINK)
    with pytest.raises(nvml.NVMLError_InvalidArgument):
        nvml.nvmlDeviceGetP2PStatus(first, 1, nvml.NVML_P2P_CAPS_INDEX_WRITE)


UNKNOWN = (
    ("get_power_cap_info", {"power_cap": "N/A"}, "nvmlDeviceGetPowerManagementLimit", ()),
    ("get_power_cap_info", {}, "nvmlDeviceGetPowerManagementLimitConstraints", ()),
    ("get_energy_count", {"energy_accumulator": 1}, "nvmlDeviceGetTotalEnergyConsumption", ()),
    ("get_gpu_total_ecc_count", {"correctable_count": "N/A"}, "nvmlDeviceGetTotalEccErrors", (0, 0)),
    ("topo_get_numa_node_number", "N/A", "nvmlDeviceGetNumaNodeId", ()),
    ("get_gpu_memory_total", "N/A", "nvmlDeviceGetMemoryInfo", ()),
    ("get_pcie_info", {}, "nvmlDeviceGetCurrPcieLinkWidth", ()),
    ("get_gpu_asic_info", {}, "nvmlDeviceGetName", ()),
    ("get_gpu_asic_info", {"device_id": "N/A", "vendor_id": "0x1002"}, "nvmlDeviceGetPciInfo", ()),
    ("get_gpu_vram_info", {}, "nvmlDeviceGetMemoryBusWidth", ()),
    ("get_gpu_fan_rpms", None, "nvmlDeviceGetFanSpeedRPM", ()),
)
"""What amdsmi says of a card, and who asks."""


@pytest.mark.parametrize(("name", "said", "function", "args"), UNKNOWN)
def test_what_amdsmi_does_not_know_is_no_zero(
    name: str, said: object, function: str, args: tuple[object, ...], smi: FakeSmi, nvml: Any
) -> None:
    vars(smi)[name] = lambda *_: said
    with pytest.raises(nvml.NVMLError_NotSupported):
        getattr(nvml, function)(nvml.nvmlDeviceGetHandleByIndex(0), *args)


def test_memory_of_a_process_that_is_not_known_is_none(smi: FakeSmi, nvml: Any) -> None:
    vars(smi)["get_gpu_process_list"] = lambda _: [{"pid": 42, "memory_usage": {"vram_mem": "N/A"}}]
    (one,) = nvml.nvmlDeviceGetComputeRunningProcesses(nvml.nvmlDeviceGetHandleByIndex(0))
    assert (one.pid, one.usedGpuMemory) == (42, None)


def test_an_amdsmi_without_a_call_or_a_name_is_told(smi: FakeSmi, nvml: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    module = sys.modules["amdsmi"]
    monkeypatch.delattr(module, "amdsmi_get_gpu_enumeration_info")
    assert nvml.nvmlDeviceGetUUID(handle) == "00000064-0000-1000-8000-000000000000"
    monkeypatch.delattr(module, "amdsmi_get_gpu_activity")
    with pytest.raises(nvml.NVMLError_FunctionNotFound, match="Function Not Found"):
        nvml.nvmlDeviceGetUtilizationRates(handle)
    monkeypatch.delattr(module, "AmdSmiClkType")
    with pytest.raises(nvml.NVMLError_NotSupported):
        nvml.nvmlDeviceGetClockInfo(handle, 0)
    assert smi.is_open


def test_an_init_that_fails_leaves_nothing_open(smi: FakeSmi) -> None:
    nvml: Any = make_module("pynvml")
    smi.refused["get_processor_handles"] = 34
    with pytest.raises(nvml.NVMLError_DriverNotLoaded):
        nvml.nvmlInit()
    assert not smi.is_open
    with pytest.raises(nvml.NVMLError_Uninitialized):
        nvml.nvmlShutdown()


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
