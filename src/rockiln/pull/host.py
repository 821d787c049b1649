"""/sys and /dev of a host, or what `hipcompat doctor --json` printed on it → HostFacts: its GPUs, who may use them.

KFD's topology: https://docs.kernel.org/gpu/amdgpu/, drivers/gpu/drm/amd/amdkfd/kfd_topology.c. hipcompat's doctor reads
the same and much more; the two share a document, not code, and tests hold them to the same answer on the same trees.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rockiln.archs import name_arch
from rockiln.errors import UsageError
from rockiln.shape_faults import name_shape_fault

NODES = "sys/class/kfd/kfd/topology/nodes"
KFD = "/dev/kfd"
DRI = "/dev/dri"
CDI_FOLDERS = ("etc/cdi", "var/run/cdi")
_CDI_KIND = re.compile(r"""["']?kind["']?\s*:\s*["']?amd\.com/gpu\b""")
_NUMBER = re.compile(r"[0-9]{1,20}")
_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGpu:
    """One GPU of KFD, in the order in which ROCr counts them."""

    arch: str
    render_path: str
    """/dev/dri/renderDN; "" where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """What a container can be given."""

    gpus: tuple[HostGpu, ...] = ()
    has_kfd: bool = False
    render_paths: tuple[str, ...] = ()
    gids: tuple[int, ...] = ()
    """Groups that own the nodes: numbers of this host, the same inside its containers."""
    cdi_paths: tuple[str, ...] = ()
    """Specifications for amd.com/gpu."""


def read_host(root: Path = Path("/")) -> HostFacts:
    """The machine, or a recorded tree of it."""
    gpus = tuple(gpu for node in _list_nodes(root) if (gpu := _read_gpu(root, node)))
    renders = tuple(f"{DRI}/{name}" for name in _list(root / DRI.lstrip("/")) if name.startswith("renderD"))
    nodes = [root / path.lstrip("/") for path in (KFD, *renders)]
    return HostFacts(
        gpus=gpus, has_kfd=nodes[0].exists(), render_paths=renders,
        gids=tuple(sorted({node.stat().st_gid for node in nodes if node.exists()})), cdi_paths=tuple(_list_cdi(root)),
    )  # fmt: skip


def parse_doctor(text: str, name: str) -> HostFacts:
    """A document of `hipcompat doctor --json`. Raises UsageError."""
    try:
        value: dict[str, Any] = json.loads(text)
        devices = value["devices"]
        return HostFacts(
            gpus=tuple(HostGpu(arch=str(one["arch"]), render_path=str(one["render_path"])) for one in value["gpus"]),
            has_kfd=bool(devices["kfd"]), render_paths=tuple(map(str, devices["render_paths"])),
            gids=tuple(map(int, devices["gids"])), cdi_paths=tuple(map(str, devices["cdi_paths"])),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        hint = "give what `hipcompat doctor --json` printed on that host"
        raise UsageError(f"{name}: not a doctor's report: {name_shape_fault(fault)}", hint=hint) from fault


def _list_nodes(root: Path) -> list[int]:
    return sorted(int(name) for name in _list(root / NODES) if _NUMBER.fullmatch(name))


def _read_gpu(root: Path, node: int) -> HostGpu | None:
    """None for a CPU, and for a node that a container's rules hide."""
    pairs = (line.split() for line in _read(root / NODES / str(node) / "properties").splitlines())
    properties = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and _NUMBER.fullmatch(pair[1])}
    version, minor = properties.get("gfx_target_version", 0), properties.get("drm_render_minor", 0)
    if not version or not properties.get("simd_count", 0):
        return None
    return HostGpu(arch=name_arch(version), render_path=f"{DRI}/renderD{minor}" if minor else "")


def _list_cdi(root: Path) -> Iterator[str]:
    for folder in CDI_FOLDERS:
        for name in _list(root / folder):
            if name.endswith((".json", ".yaml", ".yml")) and _CDI_KIND.search(_read(root / folder / name)):
                yield f"/{folder}/{name}"


def _list(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(path.name for path in folder.iterdir()))
    except OSError:
        return ()


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
