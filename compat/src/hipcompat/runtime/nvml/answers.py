"""A device → what amdsmi knows of it, in NVML's units: bytes, milliwatts, millijoules, MHz, degrees Celsius, per cent.

amdsmi's units: https://rocm.docs.amd.com/projects/amdsmi/en/latest/reference/amdsmi-py-api.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hipcompat.runtime.nvml.faults import INVALID_ARGUMENT, NOT_FOUND, NVMLError, refuse
from hipcompat.runtime.nvml.session import Device, Session

_GENERATIONS = {2500: 1, 5000: 2, 8000: 3, 16000: 4, 32000: 5, 64000: 6}
"""PCIe's transfers a second and lane, in millions → its generation."""
_CLOCKS = {0: "GFX", 1: "GFX", 2: "MEM", 3: "VCLK0"}
"""NVML_CLOCK_* → amdsmi's. Graphics and SM are one clock on AMD's GPUs."""
_THRESHOLDS = {0: ("HOTSPOT", "EMERGENCY"), 1: ("HOTSPOT", "CRITICAL"), 2: ("VRAM", "CRITICAL")}
_MEMORY_V2 = 0x02000028
_MICRO = 1000
_SEPARATORS = re.compile("[:.]")


class Answers:
    """Methods are called as the nvml functions that they answer, without their nvmlDevice or nvml prefix."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_handle_by_index(self, index: Any) -> Device:
        devices = self._session.devices
        if not isinstance(index, int) or not 0 <= index < len(devices):
            raise NVMLError(INVALID_ARGUMENT)
        return devices[index]

    def get_handle_by_uuid(self, uuid: str | bytes) -> Device:
        return self._find(_decode(uuid), self.get_uuid)

    def get_handle_by_serial(self, serial: str | bytes) -> Device:
        return self._find(_decode(serial), self.get_serial)

    def get_handle_by_address(self, address: str | bytes) -> Device:
        wanted = _parse_address(_decode(address))
        return _first(one for one in self._session.devices if _parse_address(self._address(one)) == wanted)

    def _find(self, wanted: str, read: Any) -> Device:
        return _first(device for device in self._session.devices if read(device).lower() == wanted.lower())

    def get_name(self, device: Device) -> str:
        return str(_known(self._session.ask("get_gpu_asic_info", device)["market_name"]))

    def get_uuid(self, device: Device) -> str:
        """As HIP and ROCR_VISIBLE_DEVICES write it."""
        uuid = self._session.ask("get_gpu_enumeration_info", device)["hip_uuid"]
        return str(uuid or self._session.ask("get_gpu_device_uuid", device))

    def get_serial(self, device: Device) -> str:
        return str(_known(self._session.ask("get_gpu_board_info", device)["product_serial"]))

    def get_board_part_number(self, device: Device) -> str:
        return str(_known(self._session.ask("get_gpu_board_info", device)["model_number"]))

    def get_vbios_version(self, device: Device) -> str:
        return str(_known(self._session.ask("get_gpu_vbios_info", device)["part_number"]))

    def get_index(self, device: Device) -> int:
        self._session.ask("get_gpu_device_bdf", device)  # refuses what is no handle
        return device.index

    def get_numa_node(self, device: Device) -> int:
        return int(self._session.ask("topo_get_numa_node_number", device))

    def get_pci_info(self, device: Device) -> SimpleNamespace:
        domain, bus, rest = self._address(device).split(":")
        asic = self._session.ask("get_gpu_asic_info", device)
        address = f"{int(domain, 16):08X}:{int(bus, 16):02X}:{int(rest[:2], 16):02X}.0"
        return SimpleNamespace(
            domain=int(domain, 16), bus=int(bus, 16), device=int(rest[:2], 16), busId=address, busIdLegacy=address[4:],
            pciDeviceId=_hex(asic["device_id"]) << 16 | _hex(asic["vendor_id"]),
            pciSubSystemId=_hex(asic["subsystem_id"]) << 16 | _hex(asic["subvendor_id"]),
        )  # fmt: skip

    def _address(self, device: Device) -> str:
        return str(self._session.ask("get_gpu_device_bdf", device)).lower()

    def get_memory_info(self, device: Device, version: int | None = None) -> SimpleNamespace:
        total, used = self._ask_memory(device, "VRAM")
        if version is None:
            return SimpleNamespace(total=total, used=used, free=total - used)
        if version != _MEMORY_V2:
            raise NVMLError(INVALID_ARGUMENT)
        return SimpleNamespace(version=version, total=total, reserved=0, used=used, free=total - used)

    def get_bar1_info(self, device: Device) -> SimpleNamespace:
        """The part of the memory that the CPU sees."""
        total, used = self._ask_memory(device, "VIS_VRAM")
        return SimpleNamespace(bar1Total=total, bar1Used=used, bar1Free=total - used)

    def _ask_memory(self, device: Device, kind: str) -> tuple[int, int]:
        heap = getattr(self._session.smi.AmdSmiMemoryType, kind)
        total = int(self._session.ask("get_gpu_memory_total", device, heap))
        return total, int(self._session.ask("get_gpu_memory_usage", device, heap))

    def get_memory_bus_width(self, device: Device) -> int:
        return int(_known(self._session.ask("get_gpu_vram_info", device)["vram_bit_width"]))

    def get_utilization(self, device: Device) -> SimpleNamespace:
        activity = self._session.ask("get_gpu_activity", device)
        return SimpleNamespace(gpu=int(_known(activity["gfx_activity"])), memory=int(_known(activity["umc_activity"])))

    def get_temperature(self, device: Device, sensor: int) -> int:
        """The edge sensor, or where a card has none (MI300) its hot spot."""
        if sensor != 0:
            raise NVMLError(INVALID_ARGUMENT)
        try:
            return self._ask_temperature(device, "EDGE", "CURRENT")
        except NVMLError:
            return self._ask_temperature(device, "HOTSPOT", "CURRENT")

    def get_temperature_threshold(self, device: Device, threshold: int) -> int:
        if threshold not in _THRESHOLDS:
            raise refuse()
        return self._ask_temperature(device, *_THRESHOLDS[threshold])

    def _ask_temperature(self, device: Device, sensor: str, metric: str) -> int:
        smi = self._session.smi
        kinds = getattr(smi.AmdSmiTemperatureType, sensor), getattr(smi.AmdSmiTemperatureMetric, metric)
        return int(_known(self._session.ask("get_temp_metric", device, *kinds)))

    def get_power(self, device: Device) -> int:
        power = self._session.ask("get_power_info", device)
        watts = next((power[key] for key in _POWERS if power.get(key) not in {None, "N/A", 0xFFFFFFFF}), "N/A")
        return int(_known(watts)) * 1000

    def get_power_limit(self, device: Device) -> int:
        return int(self._session.ask("get_power_cap_info", device)["power_cap"]) // _MICRO

    def get_default_power_limit(self, device: Device) -> int:
        return int(self._session.ask("get_power_cap_info", device)["default_power_cap"]) // _MICRO

    def get_power_limits(self, device: Device) -> list[int]:
        cap = self._session.ask("get_power_cap_info", device)
        return [int(cap["min_power_cap"]) // _MICRO, int(cap["max_power_cap"]) // _MICRO]

    def get_energy(self, device: Device) -> int:
        energy = self._session.ask("get_energy_count", device)
        return int(energy["energy_accumulator"] * energy["counter_resolution"] / 1000)

    def get_clock(self, device: Device, kind: int, which: int = 0) -> int:
        if which != 0:
            raise refuse()
        return int(_known(self._ask_clock(device, kind)["clk"]))

    def get_max_clock(self, device: Device, kind: int) -> int:
        return int(_known(self._ask_clock(device, kind)["max_clk"]))

    def _ask_clock(self, device: Device, kind: int) -> Any:  # amdsmi's dictionary
        if kind not in _CLOCKS:
            raise NVMLError(INVALID_ARGUMENT)
        return self._session.ask("get_clock_info", device, getattr(self._session.smi.AmdSmiClkType, _CLOCKS[kind]))

    def get_fan_speed(self, device: Device, fan: int = 0) -> int:
        largest = int(self._session.ask("get_gpu_fan_speed_max", device, fan))
        if not largest:
            raise refuse()
        return round(100 * int(self._session.ask("get_gpu_fan_speed", device, fan)) / largest)

    def get_link_generation(self, device: Device) -> int:
        speed = _known(self._session.ask("get_pcie_info", device)["pcie_metric"]["pcie_speed"])
        if speed not in _GENERATIONS:
            raise refuse()
        return _GENERATIONS[speed]

    def get_max_link_generation(self, device: Device) -> int:
        return int(_known(self._session.ask("get_pcie_info", device)["pcie_static"]["pcie_interface_version"]))

    def get_link_width(self, device: Device) -> int:
        return int(_known(self._session.ask("get_pcie_info", device)["pcie_metric"]["pcie_width"]))

    def get_max_link_width(self, device: Device) -> int:
        return int(_known(self._session.ask("get_pcie_info", device)["pcie_static"]["max_pcie_width"]))

    def get_replays(self, device: Device) -> int:
        return int(_known(self._session.ask("get_pcie_info", device)["pcie_metric"]["pcie_replay_count"]))

    def get_ecc_errors(self, device: Device, kind: int, counter: int) -> int:
        """Since the driver was loaded, which NVML calls volatile; there is no counter over a card's life."""
        if counter != 0 or kind not in {0, 1}:
            raise refuse()
        counts = self._session.ask("get_gpu_total_ecc_count", device)
        return int(counts["correctable_count" if kind == 0 else "uncorrectable_count"])

    def get_processes(self, device: Device) -> list[SimpleNamespace]:
        """As amdsmi lists them: those of all users for root, else this user's."""
        processes = self._session.ask("get_gpu_process_list", device)
        return [
            SimpleNamespace(pid=int(one["pid"]), usedGpuMemory=int(one["memory_usage"]["vram_mem"]),
                            gpuInstanceId=0xFFFFFFFF, computeInstanceId=0xFFFFFFFF)
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


def _hex(value: object) -> int:
    if isinstance(value, int):
        return value
    try:
        return int(str(value), 16)
    except ValueError:
        return 0


def _decode(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text
