"""Recorded hosts: trees of /sys, /proc and /dev in a folder, written in the formats of the kernel's amdkfd.

Values are those that AMD and the kernel document for each card; no recording of a real machine was at hand.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

from hipcompat.doctor import Host, Node

RENDER_GID = 992
SITE = "/opt/venv/lib/python3.12/site-packages"
NODES = "/sys/class/kfd/kfd/topology/nodes"
USER = 1000


class RecordedHost:
    """Builds a tree below `path`; `host()` is the value that looks at it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recorded: dict[str, Node] = {}
        self.write("/proc/mounts", "proc /proc proc rw 0 0\nshm /dev/shm tmpfs rw,nosuid,size=8388608k 0 0\n")
        self.write("/proc/sys/kernel/osrelease", "6.8.0-60-generic\n")
        self.write("/sys/bus/pci/devices/0000:00:00.0/vendor", "0x1022\n")
        self.write("/sys/bus/pci/devices/0000:00:00.0/class", "0x060000\n")

    def write(self, path: str, text: str = "") -> None:
        place = Path(f"{self.path}{path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def remove(self, path: str) -> None:
        Path(f"{self.path}{path}").unlink()

    def add_device(self, path: str, gid: int = RENDER_GID, mode: int = 0o660, fault: str = "") -> None:
        self.write(path)
        self.recorded[path] = Node(mode=mode, gid=gid, fault=fault)

    def add_driver(self, version: str = "6.14.14") -> None:
        self.write("/sys/module/amdgpu/version", f"{version}\n")

    def add_node(self, number: int, **properties: int) -> None:
        text = "".join(f"{name} {value}\n" for name, value in properties.items())
        self.write(f"{NODES}/{number}/properties", text)

    def add_cpu(self, number: int = 0) -> None:
        self.add_node(number, cpu_cores_count=96, simd_count=0, gfx_target_version=0, location_id=0, drm_render_minor=0)

    def add_gpu(
        self,
        number: int,
        gfx: int,
        simds: int,
        vram_gib: float,
        bus: int,
        minor: int,
        *,
        unique_id: int = 0,
        pci: bool = True,
    ) -> None:
        """A node of the topology, its memory, its place on the PCI bus, its render node."""
        self.add_node(
            number, cpu_cores_count=0, simd_count=simds, gfx_target_version=gfx, location_id=bus << 8, domain=0,
            drm_render_minor=minor, unique_id=unique_id,
        )  # fmt: skip
        bank = f"{NODES}/{number}/mem_banks/0/properties"
        self.write(bank, f"heap_type 1\nsize_in_bytes {int(vram_gib * 2**30)}\nflags 0\n")
        if pci:
            self.add_pci(bus)
        self.add_device(f"/dev/dri/renderD{minor}")

    def add_pci(self, bus: int, driver: str = "amdgpu", kind: str = "0x120000") -> None:
        folder = f"/sys/bus/pci/devices/0000:{bus:02x}:00.0"
        self.write(f"{folder}/vendor", "0x1002\n")
        self.write(f"{folder}/class", f"{kind}\n")
        if driver:
            Path(f"{self.path}{folder}/driver").symlink_to(f"../../../../bus/pci/drivers/{driver}")

    def add_distribution(self, name: str, version: str, files: Mapping[str, str] | None = None) -> None:
        """With a RECORD, as pip writes it."""
        rows = []
        for path, text in (files or {}).items():
            self.write(f"{SITE}/{path}", text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(text)}\n")
        folder = f"{SITE}/{name.replace('-', '_')}-{version}.dist-info"
        self.write(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        self.write(f"{folder}/RECORD", "".join(rows))

    def add_torch(self, hip: str | None = "7.0.51831", cuda: str | None = None, version: str = "2.8.0") -> None:
        text = f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda!r}\ngit_version = 'c497508'\n"
        self.add_distribution("torch", version, {"torch/version.py": f"{text}hip: Optional[str] = {hip!r}\n"})

    def host(self, *, uid: int = USER, gids: frozenset[int] = frozenset({USER, RENDER_GID}), **environ: str) -> Host:
        return Host(root=str(self.path), environ=environ, uid=uid, gids=gids, sites=(SITE,), recorded=self.recorded)


def make_mi300x(path: Path, gpus: int = 8) -> RecordedHost:
    """gfx942: 304 compute units of 4 SIMDs, 192 GB."""
    made = RecordedHost(path)
    made.add_driver()
    made.add_device("/dev/kfd")
    made.add_cpu(0)
    made.add_cpu(1)
    for index in range(gpus):
        made.add_gpu(index + 2, 90402, 1216, 192, 0x05 + 0x10 * index, 128 + 8 * index, unique_id=0xAB00 + index)
    made.write("/etc/cdi/amd.json", '{"cdiVersion": "0.6.0", "kind": "amd.com/gpu", "devices": []}\n')
    return made


def make_workstation(path: Path) -> RecordedHost:
    """Two gfx1100 with 24 GB, and the small gfx1036 of the CPU."""
    made = RecordedHost(path)
    made.add_driver()
    made.add_device("/dev/kfd")
    made.add_cpu(0)
    made.add_gpu(1, 110000, 192, 24, 0x03, 128, unique_id=0x1111)
    made.add_gpu(2, 110000, 192, 24, 0x07, 129, unique_id=0x2222)
    made.add_gpu(3, 100306, 4, 0.5, 0x0E, 130)
    made.write("/etc/cdi/amd.yaml", "cdiVersion: 0.6.0\nkind: amd.com/gpu\ndevices: []\n")
    return made


def make_bare(path: Path) -> RecordedHost:
    """No AMD GPU and no driver."""
    return RecordedHost(path)


def put_into_container(made: RecordedHost) -> RecordedHost:
    """Docker's mark, and its small shared memory."""
    made.write("/.dockerenv")
    made.write("/proc/mounts", "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k,inode64 0 0\n")
    return made
