"""Host → device nodes that are missing or refused, the flags that bring them in, and CDI specifications."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hipcompat.doctor.finding import Finding
from hipcompat.doctor.host import Host
from hipcompat.doctor.topology import NODES, Gpu, PciGpu, count_hidden_nodes

KFD = "/dev/kfd"
DRI = "/dev/dri"
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
_CDI_KIND = re.compile(r"""["']?kind["']?\s*:\s*["']?amd\.com/gpu\b""")
_CDI_NODE = re.compile(r"""["']?path["']?\s*:\s*["']?(/dev/[\w/.-]+)""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """What a container needs to be given, from what is seen here."""

    kfd: bool
    render_paths: tuple[str, ...]
    gids: tuple[int, ...]
    """Groups that own them: numbers of this host, the same inside its containers."""
    cdi_paths: tuple[str, ...]

    def make_flags(self) -> str:
        """`docker run`'s, with numbers: a group's name may not exist in the image, or have another number there."""
        groups = "".join(f" --group-add {gid}" for gid in self.gids if gid)
        return f"--device {KFD} --device {DRI}{groups}"


def list_devices(host: Host) -> Devices:
    """Nothing is opened."""
    renders = tuple(f"{DRI}/{name}" for name in host.list(DRI) if name.startswith("renderD"))
    here = [KFD, *renders] if host.exists(KFD) else [*renders]
    return Devices(
        kfd=host.exists(KFD), render_paths=renders,
        gids=tuple(sorted({host.describe_node(path).gid for path in here})), cdi_paths=tuple(_list_cdi(host)),
    )  # fmt: skip


def _list_cdi(host: Host) -> Iterator[str]:
    for folder in CDI_FOLDERS:
        for name in host.list(folder):
            path = f"{folder}/{name}"
            if name.endswith((".json", ".yaml", ".yml")) and _CDI_KIND.search(host.read(path) or ""):
                yield path


def find_container(host: Host) -> str:
    """What kind of container this is; "" for none."""
    if host.exists("/.singularity.d"):
        return "apptainer"
    if "KUBERNETES_SERVICE_HOST" in host.environ:
        return "kubernetes"
    if host.exists("/.dockerenv"):
        return "docker"
    if host.exists("/run/.containerenv"):
        return "podman"
    groups = host.read("/proc/1/cgroup") or ""
    return next((word for word in ("kubepods", "docker", "containerd", "libpod", "lxc") if word in groups), "")


def find_driver_faults(host: Host, pci: Sequence[PciGpu] | None) -> Iterator[Finding]:
    """Hardware and kernel: what no flag of a container can repair."""
    has_driver = host.exists("/sys/module/amdgpu")
    if pci is not None and not pci and not host.exists(KFD):
        yield Finding(rule="no-amd-gpu", severity="error", message="no device on the PCI bus is an AMD GPU",
                      advice=("lspci -d 1002: shows them; a virtual machine must be given one",))  # fmt: skip
    strangers = [gpu for gpu in pci or () if gpu.driver not in {"", "amdgpu"}]
    if strangers:
        names = ", ".join(f"{gpu.address} ({gpu.driver})" for gpu in strangers)
        yield Finding(rule="driver-not-bound", severity="warning" if len(strangers) < len(pci or ()) else "error",
                      message=f"another driver than amdgpu has {names}",
                      advice=("vfio-pci keeps a GPU for a virtual machine; unbind it to use it here",))  # fmt: skip
    if not has_driver and not host.exists(KFD):
        yield Finding(rule="driver-not-loaded", severity="error", message="the kernel's amdgpu driver is not loaded",
                      advice=("on the host: sudo modprobe amdgpu, then dmesg | grep amdgpu",
                              "a container uses the host's driver; installing one inside changes nothing"))  # fmt: skip
    elif has_driver and not host.exists("/sys/class/kfd"):
        yield Finding(rule="kfd-not-built", severity="error", message="amdgpu is loaded without KFD, its compute part",
                      advice=("a kernel with CONFIG_HSA_AMD=y, or AMD's amdgpu-dkms",))  # fmt: skip


def find_device_faults(host: Host, container: str, *, is_quick: bool = False) -> Iterator[Finding]:
    """The preflight's four findings about /dev/kfd and /dev/dri, in its words.

    Unless quick, a node that its mode allows is left to find_access_faults(): no group helps there.
    """
    if not host.exists(KFD):
        place = "in this container (ROCKILN_PREFLIGHT=off silences this)" if container else "on this machine"
        flags = "docker run --device /dev/kfd --device /dev/dri, or --device amd.com/gpu=all where CDI is set up"
        yield Finding(rule="no-kfd", severity="error", message=f"no GPU: {KFD} is not {place}",
                      advice=(flags,) if container else ("the amdgpu driver makes it",))  # fmt: skip
        return
    if _is_refused(host, KFD, is_quick=is_quick):
        yield _describe_refused(host, KFD, "kfd-refused")
    renders = [f"{DRI}/{name}" for name in host.list(DRI) if name.startswith("renderD")]
    refused = [path for path in renders if _is_refused(host, path, is_quick=is_quick)]
    if not renders:
        message = f"no GPU: {KFD} is there, but no {DRI}/renderD*: docker run --device {DRI}"
        yield Finding(rule="no-render-node", severity="error", message=message)
    elif refused:
        yield _describe_refused(host, refused[-1], "render-refused")


def _is_refused(host: Host, path: str, *, is_quick: bool) -> bool:
    return not host.may_use(path) and (is_quick or not host.is_allowed_by_mode(path))


def _describe_refused(host: Host, path: str, rule: str) -> Finding:
    gid = host.describe_node(path).gid
    return Finding(
        rule=rule, severity="error",
        message=f"{path} is there, but uid {host.uid} may not use it: docker run --group-add {gid}",
        advice=(f"in Kubernetes: securityContext.supplementalGroups: [{gid}]",),
    )  # fmt: skip


def find_access_faults(host: Host, gpus: Sequence[Gpu]) -> Iterator[Finding]:
    """What only opening shows, and GPUs of the topology that have no device here."""
    devices = list_devices(host)
    for path in (KFD, *devices.render_paths):
        fault = host.try_open(path) if host.exists(path) and host.is_allowed_by_mode(path) else ""
        if fault:
            yield Finding(rule="device-denied", severity="error",
                          message=f"{path} may be used by its mode, and opening it says {fault}",
                          advice=("EPERM: the container's device rules; use --device, a bind mount is not enough",
                                  "ENODEV, ENXIO: the driver is in trouble, dmesg on the host says more"))  # fmt: skip
    if devices.kfd and not gpus and host.exists(NODES):
        hidden = count_hidden_nodes(host)
        message = f"KFD lists no GPU{f'; {hidden} nodes are hidden from this container' if hidden else ''}"
        advice = (f"docker run --device {DRI}",) if hidden else ("dmesg on the host: amdgpu says what it left out",)
        yield Finding(rule="no-gpu-in-topology", severity="error", message=message, advice=advice)
    for gpu in gpus:
        if gpu.render_path and devices.render_paths and gpu.render_path not in devices.render_paths:
            yield Finding(rule="gpu-without-node", severity="note",
                          message=f"GPU {gpu.index} ({gpu.arch}) is in the machine, and {gpu.render_path} is not here",
                          advice=(f"docker run --device {gpu.render_path}, if it is wanted",))  # fmt: skip


def find_cdi_faults(host: Host, container: str, gpus: Sequence[Gpu]) -> Iterator[Finding]:
    """Specifications that are out of date, or none on a host with GPUs. Inside a container there is nothing to see."""
    if container:
        return
    paths = list_devices(host).cdi_paths
    for path in paths:
        gone = [node for node in sorted(set(_CDI_NODE.findall(host.read(path) or ""))) if not host.exists(node)]
        if gone:
            yield Finding(rule="cdi-stale", severity="warning",
                          message=f"{path} names {', '.join(gone)}, not on this machine",
                          advice=("amd-ctk cdi generate --output=/etc/cdi/amd.json",))  # fmt: skip
    if gpus and not paths:
        yield Finding(
            rule="cdi-missing", severity="note",
            message="no CDI specification for amd.com/gpu: --device amd.com/gpu=all does not work here",
            advice=("AMD's container toolkit: amd-ctk cdi generate --output=/etc/cdi/amd.json",),
        )  # fmt: skip
