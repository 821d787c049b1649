"""Host → the GPUs that the kernel's KFD lists, and the AMD GPUs on the PCI bus.

Format: https://docs.kernel.org/gpu/amdgpu/ and drivers/gpu/drm/amd/amdkfd/kfd_topology.c, which writes
/sys/class/kfd/kfd/topology/nodes/N/properties: a name and a decimal number a line.
"""

from __future__ import annotations

from dataclasses import dataclass

from hipcompat.doctor.host import Host, read_number

NODES = "/sys/class/kfd/kfd/topology/nodes"
_PCI = "/sys/bus/pci/devices"
_AMD = "0x1002"
_GPU_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")
"""VGA, 3D and other display controllers; processing accelerators, as which Instinct cards show themselves."""

INTEGRATED = frozenset(
    {
        "gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1037", "gfx1103", "gfx1150",
        "gfx1151", "gfx1152", "gfx1153",
    }
)  # fmt: skip
"""Archs that exist only inside CPUs (LLVM's AMDGPUUsage, "APU")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU of KFD, in the order in which ROCr counts them."""

    index: int
    """Without any variable set, the index that ROCr gives it."""
    node: int
    arch: str
    uuid: str
    """GPU-… as ROCR_VISIBLE_DEVICES takes it; "" where the card has no number of its own."""
    address: str
    """On the PCI bus, 0000:c1:00.0."""
    render_path: str
    vram_bytes: int
    simds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PciGpu:
    """An AMD display or compute device on the PCI bus."""

    address: str
    driver: str
    """"" for none."""


def name_arch(gfx_target_version: int) -> str:
    """90402 → gfx942, 90010 → gfx90a, 110000 → gfx1100: minor and stepping become hexadecimal digits."""
    major, rest = divmod(gfx_target_version, 10000)
    minor, stepping = divmod(rest, 100)
    return f"gfx{major}{minor:x}{stepping:x}"


def list_gpus(host: Host) -> tuple[Gpu, ...]:
    """Nodes with shader units, by node number. A node whose properties are empty is hidden by the container's rules."""
    gpus: list[Gpu] = []
    for node in _list_nodes(host):
        properties = _read_properties(host, node)
        if properties.get("simd_count", 0) and properties.get("gfx_target_version", 0):
            gpus.append(_make_gpu(host, len(gpus), node, properties))
    return tuple(gpus)


def count_hidden_nodes(host: Host) -> int:
    """Nodes that are listed and whose properties this container may not read."""
    return sum(not _read_properties(host, node) for node in _list_nodes(host))


def list_pci_gpus(host: Host) -> tuple[PciGpu, ...] | None:
    """None where the PCI bus is not to be seen."""
    addresses = host.list(_PCI)
    if not addresses:
        return None
    return tuple(
        PciGpu(address=address, driver=host.read_link(f"{_PCI}/{address}/driver").rpartition("/")[2])
        for address in addresses
        if _read_word(host, f"{_PCI}/{address}/vendor") == _AMD
        and _read_word(host, f"{_PCI}/{address}/class")[:6] in _GPU_CLASSES
    )


def read_driver_version(host: Host) -> str:
    """amdgpu's own version (AMD's packages have one), else the kernel's; "" where amdgpu is not loaded."""
    if not host.exists("/sys/module/amdgpu"):
        return ""
    release = _read_word(host, "/proc/sys/kernel/osrelease")
    return _read_word(host, "/sys/module/amdgpu/version") or (f"of Linux {release}" if release else "of this kernel")


def _list_nodes(host: Host) -> list[int]:
    return sorted(node for node in map(read_number, host.list(NODES)) if node is not None)


def _make_gpu(host: Host, index: int, node: int, properties: dict[str, int]) -> Gpu:
    location, domain = properties.get("location_id", 0), properties.get("domain", 0)
    unique, minor = properties.get("unique_id", 0), properties.get("drm_render_minor", 0)
    return Gpu(
        index=index, node=node, arch=name_arch(properties["gfx_target_version"]),
        uuid=f"GPU-{unique:016x}" if unique else "",
        address=f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}",
        render_path=f"/dev/dri/renderD{minor}" if minor else "",
        vram_bytes=_read_vram(host, node), simds=properties["simd_count"],
    )  # fmt: skip


def _read_vram(host: Host, node: int) -> int:
    """Heaps of type 1 (public) and 2 (private) are the card's own memory."""
    total = 0
    for bank in host.list(f"{NODES}/{node}/mem_banks"):
        properties = _parse(host.read(f"{NODES}/{node}/mem_banks/{bank}/properties"))
        if properties.get("heap_type") in {1, 2}:
            total += properties.get("size_in_bytes", 0)
    return total


def _read_properties(host: Host, node: int) -> dict[str, int]:
    return _parse(host.read(f"{NODES}/{node}/properties"))


def _parse(text: str | None) -> dict[str, int]:
    words = (line.split() for line in (text or "").splitlines())
    found = ((pair[0], read_number(pair[1])) for pair in words if len(pair) == 2)
    return {name: number for name, number in found if number is not None}


def _read_word(host: Host, path: str) -> str:
    return (host.read(path) or "").strip()
