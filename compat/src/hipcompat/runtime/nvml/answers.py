"""A device → what amdsmi knows of it, in NVML's units: bytes, milliwatts, millijoules, MHz, degrees Celsius, per cent.

amdsmi's units: https://rocm.docs.amd.com/projects/amdsmi/en/latest/reference/amdsmi-py-api.html
"""

from __future__ import annotations

import ctypes
import operator
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hipcompat.runtime.nvml.affinity import list_local_cpus, make_words
from hipcompat.runtime.nvml.faults import INVALID_ARGUMENT, NOT_FOUND, VERSION_MISMATCH, NVMLError, refuse
from hipcompat.runtime.nvml.session import Device, Session

_GENERATIONS = {2500: 1, 5000: 2, 8000: 3, 16000: 4, 32000: 5, 64000: 6}
"""PCIe's transfers a second and lane, in millions → its generation."""
_CLOCKS = {0: "GFX", 1: "GFX", 2: "MEM", 3: "VCLK0"}
"""NVML_CLOCK_* → amdsmi's. Graphics and SM are one clock on AMD's GPUs."""
_THRESHOLDS = {0: ("HOTSPOT", "EMERGENCY"), 1: ("HOTSPOT", "CRITICAL"), 2: ("VRAM", "CRITICAL")}
_MEMORY_V2 = 0x02000028
TEMPERATURE_V1 = 0x0100000C
_NODE = 0
"""NVML_AFFINITY_SCOPE_NODE."""
_P2P_INDICES = (0, 1)
"""NVML_P2P_CAPS_INDEX_READ and _WRITE; what amdsmi answers is both."""
_P2P_OK, _P2P_NOT_SUPPORTED = 0, 5
_MICRO = 1000
_SEPARATORS = re.compile("[:.]")


class Answers:
    """Methods are called as the nvml functions that they answer, without their nvmlDevice or nvml prefix."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_handle_by_index(self, index: Any) -> Device:
        devices = self._session.devices
        try:
            number = operator.index(index)  # NumPy's numbers, too
        except TypeError:
            raise NVMLError(INVALID_ARGUMENT) from None
        if not 0 <= number < len(devices):
            raise NVMLError(INVALID_ARGUMENT)
        return devices[number]

    def get_handle_by_uuid(self, uuid: str | bytes) -> Device:
        return self._find(_decode(uuid), self.get_uuid)

    def get_handle_by_serial(self, serial: str | bytes) -> Device:
        return self._find(_decode(serial), self.get_serial)

    def get_handle_by_address(self, address: str | bytes) -> Device:
        wanted = _parse_address(_decode(address))
        return _first(one for one in self._session.devices if _parse_address(self._address(one)) == wanted)

    def _find(self, wanted: str, read: Callable[[Device], str]) -> Device:
        def says(device: Device) -> str:
            try:
                return read(device).lower()
            except NVMLError:  # a card without one must not hide the others
                return ""

        return _first(device for device in self._session.devices if says(device) == wanted.lower() != "")

    def get_name(self, device: Device) -> str:
        return self._read("get_gpu_asic_info", device, "market_name")

    def get_uuid(self, device: Device) -> str:
        """As HIP and ROCR_VISIBLE_DEVICES write it."""
        try:
            return self._read("get_gpu_enumeration_info", device, "hip_uuid")
        except NVMLError:  # an older amdsmi, or a card that HIP does not count
            return str(_known(self._session.ask("get_gpu_device_uuid", device)))

    def get_serial(self, device: Device) -> str:
        return self._read("get_gpu_board_info", device, "product_serial")

    def get_board_part_number(self, device: Device) -> str:
        return self._read("get_gpu_board_info", device, "model_number")

    def get_vbios_version(self, device: Device) -> str:
        return self._read("get_gpu_vbios_info", device, "part_number")

    def _read(self, name: str, device: Device, key: str) -> str:
        return str(_known(self._session.ask(name, device).get(key)))

    def get_index(self, device: Device) -> int:
        self._session.ask("get_gpu_device_bdf", device)  # refuses what is no handle
        return device.index

    def get_numa_node(self, device: Device) -> int:
        return _number(self._session.ask("topo_get_numa_node_number", device))

    def get_cpu_affinity(self, device: Device, count: int) -> ctypes.Array[ctypes.c_ulonglong]:
        """`count` words of 64 bits: the CPUs that the kernel calls local to the card."""
        return make_words(list_local_cpus(self._address(device)), count)

    def get_cpu_affinity_within(self, device: Device, count: int, scope: int) -> ctypes.Array[ctypes.c_ulonglong]:
        if scope != _NODE:
            raise refuse()
        return self.get_cpu_affinity(device, count)

    def get_peer_status(self, device: Device, other: Device, kind: int | tuple[int, ...]) -> int:
        """nvidia-ml-py's NVML_P2P_CAPS_INDEX_READ is a tuple by mistake, and taken as such."""
        if not isinstance(other, Device):
            raise NVMLError(INVALID_ARGUMENT)
        if kind not in _P2P_INDICES and kind != (0,):
            self._address(device)
            raise refuse()
        is_open = self._session.ask("is_P2P_accessible", device, other)
        return _P2P_OK if is_open else _P2P_NOT_SUPPORTED

    def get_pci_info(self, device: Device) -> SimpleNamespace:
        domain, bus, rest = self._address(device).split(":")
        asic = self._session.ask("get_gpu_asic_info", device)
        address = f"{int(domain, 16):08X}:{int(bus, 16):02X}:{int(rest[:2], 16):02X}.0"
        return SimpleNamespace(
            domain=int(domain, 16), bus=int(bus, 16), device=int(rest[:2], 16), busId=address, busIdLegacy=address[4:],
            pciDeviceId=_hex(_known(asic.get("device_id"))) << 16 | _hex(_known(asic.get("vendor_id"))),
            pciSubSystemId=_hex(asic.get("subsystem_id")) << 16 | _hex(asic.get("subvendor_id")),
        )  # fmt: skip

    def _address(self, device: Device) -> str:
        return str(self._session.ask("get_gpu_device_bdf", device)).lower()

    def get_memory_info(self, device: Device, version: int | None = None) -> SimpleNamespace:
        total, used = self._ask_memory(device, "VRAM")
        if not version:
            return SimpleNamespace(total=total, used=used, free=total - used)
        if version != _MEMORY_V2:
            raise NVMLError(VERSION_MISMATCH)
        return SimpleNamespace(version=version, total=total, reserved=0, used=used, free=total - used)

    def get_bar1_info(self, device: Device) -> SimpleNamespace:
        """The part of the memory that the CPU sees."""
        total, used = self._ask_memory(device, "VIS_VRAM")
        return SimpleNamespace(bar1Total=total, bar1Used=used, bar1Free=total - used)

    def _ask_memory(self, device: Device, kind: str) -> tuple[int, int]:
        heap = self._choose("AmdSmiMemoryType", kind)
        total = _number(self._session.ask("get_gpu_memory_total", device, heap))
        return total, _number(self._session.ask("get_gpu_memory_usage", device, heap))

    def _choose(self, kind: str, name: str) -> Any:  # a member of one of amdsmi's enumerations
        """NVMLError_NotSupported where this amdsmi has none of the name."""
        member = getattr(getattr(self._session.smi, kind, None), name, None)
        if member is None:
            raise refuse()
        return member

    def get_memory_bus_width(self, device: Device) -> int:
        return _number(self._session.ask("get_gpu_vram_info", device).get("vram_bit_width"))

    def get_utilization(self, device: Device) -> SimpleNamespace:
        activity = self._session.ask("get_gpu_activity", device)
        return SimpleNamespace(gpu=_number(activity.get("gfx_activity")), memory=_number(activity.get("umc_activity")))

    def get_temperature(self, device: Device, sensor: int) -> int:
        """The edge sensor, or where a card has none (MI300) its hot spot."""
        if sensor != 0:
            raise NVMLError(INVALID_ARGUMENT)
        try:
            return self._ask_temperature(device, "EDGE", "CURRENT")
        except NVMLError:
            return self._ask_temperature(device, "HOTSPOT", "CURRENT")

    def get_temperature_by_version(self, device: Device, sensor: int, version: int = TEMPERATURE_V1) -> int:
        if version != TEMPERATURE_V1:
            raise NVMLError(VERSION_MISMATCH)
        return self.get_temperature(device, sensor)

    def get_temperature_threshold(self, device: Device, threshold: int) -> int:
        if threshold not in _THRESHOLDS:
            raise refuse()
        return self._ask_temperature(device, *_THRESHOLDS[threshold])

    def _ask_temperature(self, device: Device, sensor: str, metric: str) -> int:
        kinds = self._choose("AmdSmiTemperatureType", sensor), self._choose("AmdSmiTemperatureMetric", metric)
        return _number(self._session.ask("get_temp_metric", device, *kinds))

    def get_power(self, device: Device) -> int:
        power = self._session.ask("get_power_info", device)
        watts = next((power[key] for key in _POWERS if power.get(key) not in {None, "N/A", 0xFFFFFFFF}), "N/A")
        return _number(watts) * 1000

    def get_power_limit(self, device: Device) -> int:
        return self._read_caps(device, "power_cap")[0]

    def get_default_power_limit(self, device: Device) -> int:
        return self._read_caps(device, "default_power_cap")[0]

    def get_power_limits(self, device: Device) -> list[int]:
        return self._read_caps(device, "min_power_cap", "max_power_cap")

    def _read_caps(self, device: Device, *keys: str) -> list[int]:
        caps = self._session.ask("get_power_cap_info", device)
        return [_number(caps.get(key)) // _MICRO for key in keys]

    def get_energy(self, device: Device) -> int:
        energy = self._session.ask("get_energy_count", device)
        return int(_known(energy.get("energy_accumulator")) * _known(energy.get("counter_resolution")) / 1000)

    def get_clock(self, device: Device, kind: int, which: int = 0) -> int:
        if which != 0:
            raise refuse()
        return _number(self._ask_clock(device, kind).get("clk"))

    def get_max_clock(self, device: Device, kind: int) -> int:
        return _number(self._ask_clock(device, kind).get("max_clk"))

    def _ask_clock(self, device: Device, kind: int) -> Any:  # amdsmi's dictionary
        if kind not in _CLOCKS:
            raise NVMLError(INVALID_ARGUMENT)
        return self._session.ask("get_clock_info", device, self._choose("AmdSmiClkType", _CLOCKS[kind]))

    def get_fan_speed(self, device: Device, fan: int = 0) -> int:
        largest = _number(self._session.ask("get_gpu_fan_speed_max", device, fan))
        if not largest:
            raise refuse()
        return round(100 * _number(self._session.ask("get_gpu_fan_speed", device, fan)) / largest)

    def get_fan_rpm(self, device: Device) -> int:
        return _number(self._session.ask("get_gpu_fan_rpms", device, 0))

    def get_link_generation(self, device: Device) -> int:
        speed = self._read_link(device, "pcie_metric", "pcie_speed")
        if speed not in _GENERATIONS:
            raise refuse()
        return _GENERATIONS[speed]

    def get_max_link_generation(self, device: Device) -> int:
        return self._read_link(device, "pcie_static", "pcie_interface_version")

    def get_link_width(self, device: Device) -> int:
        return self._read_link(device, "pcie_metric", "pcie_width")

    def get_max_link_width(self, device: Device) -> int:
        return self._read_link(device, "pcie_static", "max_pcie_width")

    def get_replays(self, device: Device) -> int:
        return self._read_link(device, "pcie_metric", "pcie_replay_count")

    def _read_link(self, device: Device, part: str, key: str) -> int:
        return _number(self._session.ask("get_pcie_info", device).get(part, {}).get(key))

    def get_ecc_errors(self, device: Device, kind: int, counter: int) -> int:
        """Since the driver was loaded, which NVML calls volatile; there is no counter over a card's life."""
        if counter != 0 or kind not in {0, 1}:
            raise refuse()
        counts = self._session.ask("get_gpu_total_ecc_count", device)
        return _number(counts.get("correctable_count" if kind == 0 else "uncorrectable_count"))

    def get_processes(self, device: Device) -> list[SimpleNamespace]:
        """As amdsmi lists them: those of all users for root, else this user's. Memory that is not known is None."""
        processes = self._session.ask("get_gpu_process_list", device)
        return [
            SimpleNamespace(
                pid=int(one["pid"]), usedGpuMemory=_number_or_none(one.get("memory_usage", {}).get("vram_mem")),
                gpuInstanceId=0xFFFFFFFF, computeInstanceId=0xFFFFFFFF,
            )
            for one in processes
        ]  # fmt: skip


_POWERS = ("current_socket_power", "average_socket_power", "socket_power")
"""Instinct MI300 and newer say the first, older cards the second."""


def read_process_name(session: Session, pid: int) -> str:
    """The program's path, from /proc."""
    session.require()
    try:
        return Path(f"/proc/{int(pid)}/cmdline").read_bytes().split(b"\0")[0].decode("utf-8", "replace")
    except OSError as fault:
        raise NVMLError(NOT_FOUND) from fault


def _parse_address(text: str) -> tuple[int, ...]:
    """NVML writes eight digits for the domain, amdsmi four; a short address has none."""
    words = [word for word in _SEPARATORS.split(text.strip()) if word]
    try:
        numbers = tuple(int(word, 16) for word in words)
    except ValueError:
        raise NVMLError(INVALID_ARGUMENT) from None
    return numbers if len(numbers) == 4 else (0, *numbers)


def _first(found: Iterable[Device]) -> Device:
    device = next(iter(found), None)
    if device is None:
        raise NVMLError(NOT_FOUND)
    return device


def _known(value: Any) -> Any:  # a number or text of amdsmi
    if value in {"N/A", "", None}:
        raise refuse()
    return value


def _number(value: Any) -> int:  # as above
    """NVMLError_NotSupported for what is no number."""
    try:
        return int(_known(value))
    except (TypeError, ValueError):
        raise refuse() from None


def _number_or_none(value: object) -> int | None:
    try:
        return _number(value)
    except NVMLError:
        return None


def _hex(value: object) -> int:
    """0 for an unknown one: what PCI gives for a card that states no subsystem."""
    if isinstance(value, int):
        return value
    try:
        return int(str(value), 16)
    except ValueError:
        return 0


def _decode(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text
