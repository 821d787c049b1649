"""A fake amdsmi: two GPUs, in the units and dictionaries of amdsmi 7.0.2; held against the wheel's source."""

# ruff: noqa: ARG002  # signatures are amdsmi's

from __future__ import annotations

from enum import IntEnum
from types import ModuleType
from typing import Any

GIB = 1 << 30


class AmdSmiMemoryType(IntEnum):
    VRAM = 0
    VIS_VRAM = 1


class AmdSmiTemperatureType(IntEnum):
    EDGE = 0
    HOTSPOT = 1
    VRAM = 3


class AmdSmiTemperatureMetric(IntEnum):
    CURRENT = 0
    CRITICAL = 5
    EMERGENCY = 7


class AmdSmiClkType(IntEnum):
    GFX = 0
    MEM = 4
    VCLK0 = 7


class AmdSmiLibraryException(Exception):  # noqa: N818  # amdsmi's name
    def __init__(self, err_code: int) -> None:
        super().__init__(err_code)
        self.err_code = err_code


class FakeSmi:
    """Each method is amdsmi_NAME. Card 0 is a gfx942, card 1 a gfx1100."""

    def __init__(self) -> None:
        self.is_open = False
        self.refused: dict[str, int] = {}

    def init(self) -> None:
        self._check("init")
        self.is_open = True

    def shut_down(self) -> None:
        self.is_open = False

    def get_processor_handles(self) -> list[int]:
        return [100, 101]

    def get_gpu_asic_info(self, processor_handle: int) -> dict[str, Any]:
        name = "AMD Instinct MI300X" if processor_handle == 100 else "AMD Radeon RX 7900 XTX"
        return {"market_name": name, "vendor_id": "0x1002", "vendor_name": "AMD", "subvendor_id": "0x1002",
                "device_id": "0x74a1", "rev_id": "0x00", "asic_serial": "0x0000000000AB0000", "oam_id": 0,
                "num_compute_units": 304, "target_graphics_version": "gfx942", "subsystem_id": "0x74a1"}  # fmt: skip

    def get_gpu_device_uuid(self, processor_handle: int) -> str:
        return f"{processor_handle:08x}-0000-1000-8000-000000000000"

    def get_gpu_enumeration_info(self, processor_handle: int) -> dict[str, Any]:
        return {"drm_render": 128, "drm_card": 0, "hsa_id": 1, "hip_id": 0, "hip_uuid": f"GPU-{processor_handle:016x}"}

    def get_gpu_board_info(self, processor_handle: int) -> dict[str, str]:
        return {"model_number": "102-G30211", "product_serial": "69" if processor_handle == 100 else "N/A",
                "fru_id": "N/A", "product_name": "N/A", "manufacturer_name": "AMD"}  # fmt: skip

    def get_gpu_vbios_info(self, processor_handle: int) -> dict[str, str]:
        return {"name": "AMD", "build_date": "2024/01/01", "part_number": "113-M3000100-102", "version": "022.040"}

    def get_gpu_device_bdf(self, processor_handle: int) -> str:
        return "0000:05:00.0" if processor_handle == 100 else "0001:c1:00.0"

    def topo_get_numa_node_number(self, processor_handle: int) -> int:
        return processor_handle - 100

    def get_gpu_memory_total(self, processor_handle: int, mem_type: AmdSmiMemoryType) -> int:
        return 192 * GIB if mem_type == AmdSmiMemoryType.VRAM else GIB // 4

    def get_gpu_memory_usage(self, processor_handle: int, mem_type: AmdSmiMemoryType) -> int:
        return 3 * GIB if mem_type == AmdSmiMemoryType.VRAM else 1 << 20

    def get_gpu_vram_info(self, processor_handle: int) -> dict[str, Any]:
        return {
            "vram_type": 1,
            "vram_vendor": "X",
            "vram_size": 196608,
            "vram_bit_width": 8192,
            "vram_max_bandwidth": 5300,
        }

    def get_gpu_activity(self, processor_handle: int) -> dict[str, Any]:
        return {"gfx_activity": 87, "umc_activity": 12 if processor_handle == 100 else "N/A", "mm_activity": "N/A"}

    def get_temp_metric(
        self, processor_handle: int, sensor_type: AmdSmiTemperatureType, metric: AmdSmiTemperatureMetric
    ) -> int:
        if processor_handle == 100 and sensor_type == AmdSmiTemperatureType.EDGE:
            raise AmdSmiLibraryException(2)
        return 40 + 10 * sensor_type + metric

    def get_power_info(self, processor_handle: int) -> dict[str, Any]:
        is_new = processor_handle == 100
        return {"socket_power": "N/A", "current_socket_power": 350 if is_new else "N/A",
                "average_socket_power": "N/A" if is_new else 120, "gfx_voltage": 0, "soc_voltage": 0, "mem_voltage": 0,
                "power_limit": 750}  # fmt: skip

    def get_power_cap_info(self, processor_handle: int) -> dict[str, int]:
        return {"power_cap": 750_000_000, "default_power_cap": 700_000_000, "dpm_cap": 0, "min_power_cap": 0,
                "max_power_cap": 760_000_000}  # fmt: skip

    def get_energy_count(self, processor_handle: int) -> dict[str, Any]:
        return {"energy_accumulator": 1_000_000, "counter_resolution": 15.3, "timestamp": 1}

    def get_clock_info(self, processor_handle: int, clock_type: AmdSmiClkType) -> dict[str, Any]:
        return {"clk": 1200 + clock_type, "min_clk": 500, "max_clk": 2100, "clk_locked": False, "clk_deep_sleep": "N/A"}

    def get_gpu_fan_speed(self, processor_handle: int, sensor_idx: int) -> int:
        return 64

    def get_gpu_fan_speed_max(self, processor_handle: int, sensor_idx: int) -> int:
        if processor_handle == 100:
            raise AmdSmiLibraryException(2)
        return 255

    def get_gpu_fan_rpms(self, processor_handle: int, sensor_idx: int) -> int:
        if processor_handle == 100:
            raise AmdSmiLibraryException(2)
        return 1500

    def is_P2P_accessible(self, processor_handle_src: int, processor_handle_dst: int) -> bool:  # noqa: N802  # amdsmi's
        return processor_handle_src < processor_handle_dst

    def get_pcie_info(self, processor_handle: int) -> dict[str, dict[str, Any]]:
        static = {"max_pcie_width": 16, "max_pcie_speed": 32, "pcie_interface_version": 5, "slot_type": "OAM"}
        metric = {"pcie_width": 8, "pcie_speed": 16000, "pcie_bandwidth": 0, "pcie_replay_count": 7}
        return {"pcie_static": static, "pcie_metric": metric}

    def get_gpu_total_ecc_count(self, processor_handle: int) -> dict[str, int]:
        return {"correctable_count": 5, "uncorrectable_count": 1, "deferred_count": 0}

    def get_gpu_process_list(self, processor_handle: int) -> list[dict[str, Any]]:
        return [{"name": "python", "pid": 42, "mem": 4 * GIB, "engine_usage": {"gfx": 0, "enc": 0},
                 "memory_usage": {"gtt_mem": 0, "cpu_mem": 0, "vram_mem": 2 * GIB}, "cu_occupancy": 0}]  # fmt: skip

    def _check(self, name: str) -> None:
        if name in self.refused:
            raise AmdSmiLibraryException(self.refused[name])


NAMES = tuple(name for name in vars(FakeSmi) if not name.startswith("_"))


def make_amdsmi() -> tuple[ModuleType, FakeSmi]:
    """The module, and what is behind it."""
    fake = FakeSmi()
    module = ModuleType("amdsmi")
    kinds = (AmdSmiMemoryType, AmdSmiTemperatureType, AmdSmiTemperatureMetric, AmdSmiClkType, AmdSmiLibraryException)
    for kind in kinds:
        setattr(module, kind.__name__, kind)
    for name in NAMES:
        setattr(module, f"amdsmi_{name}", _guard(fake, name))
    return module, fake


def _guard(fake: FakeSmi, name: str) -> Any:
    def call(*args: Any) -> Any:
        if name not in {"init", "shut_down"} and not fake.is_open:
            raise AmdSmiLibraryException(32)
        fake._check(name)
        return getattr(fake, name)(*args)

    return call
