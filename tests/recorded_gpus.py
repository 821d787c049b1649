"""A tree of /sys, /dev and /etc → a host with AMD GPUs, in the formats of the kernel's amdkfd and of CDI."""

from __future__ import annotations

from pathlib import Path

NODES = "sys/class/kfd/kfd/topology/nodes"


def write_host(root: Path, *versions: int, cdi: bool = False) -> Path:
    """A CPU as node 0, then a GPU for each gfx_target_version, with render nodes from 128 on."""
    _write(root, f"{NODES}/0/properties", "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\n")
    for number, version in enumerate(versions, 1):
        minor = 127 + number
        text = f"cpu_cores_count 0\nsimd_count 304\ngfx_target_version {version}\ndrm_render_minor {minor}\n"
        _write(root, f"{NODES}/{number}/properties", text)
        _write(root, f"dev/dri/renderD{minor}", "")
    if versions:
        _write(root, "dev/kfd", "")
        _write(root, "sys/module/amdgpu/version", "6.14.14\n")
    if cdi:
        _write(root, "etc/cdi/amd.json", '{"cdiVersion": "0.6.0", "kind": "amd.com/gpu", "devices": []}')
    return root


def _write(root: Path, path: str, text: str) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
