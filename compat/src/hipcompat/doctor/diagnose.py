"""Host → Diagnosis: every check, causes before what follows from them; or the preflight's few checks alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hipcompat.doctor.devices import (
    Devices,
    find_access_faults,
    find_cdi_faults,
    find_container,
    find_device_faults,
    find_driver_faults,
    list_devices,
)
from hipcompat.doctor.finding import Finding, order_findings
from hipcompat.doctor.host import Host
from hipcompat.doctor.libraries import find_library_faults, find_library_path
from hipcompat.doctor.limits import Limits, find_limit_faults, find_shm_faults, read_limits
from hipcompat.doctor.packages import (
    Identity,
    find_identity_faults,
    find_install_faults,
    list_distributions,
    read_identities,
)
from hipcompat.doctor.packs import Pack, find_pack_faults, list_packs
from hipcompat.doctor.topology import Gpu, list_gpus, list_pci_gpus, read_driver_version
from hipcompat.doctor.visible import Visible, find_clash, find_visible_faults, resolve_visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is here, and what is wrong with it."""

    container: str
    driver: str
    gpus: tuple[Gpu, ...]
    visible: Visible
    devices: Devices
    limits: Limits
    identities: tuple[Identity, ...]
    packs: tuple[Pack, ...]
    findings: tuple[Finding, ...]


def diagnose(host: Host) -> Diagnosis:
    """Look at everything. Opens device nodes on a live host; loads no library and imports no framework."""
    gpus = list_gpus(host)
    dists = list_distributions(host)
    return Diagnosis(
        container=find_container(host), driver=read_driver_version(host), gpus=gpus,
        visible=resolve_visible(gpus, host.environ), devices=list_devices(host), limits=read_limits(host),
        identities=read_identities(host, dists), packs=list_packs(host),
        findings=order_findings(_find_all(host, gpus)),
    )  # fmt: skip


def _find_all(host: Host, gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    container = find_container(host)
    dists = list_distributions(host)
    has = frozenset(one.name for one in dists)
    yield from find_driver_faults(host, list_pci_gpus(host))
    yield from find_device_faults(host, container)
    yield from find_access_faults(host, gpus)
    yield from find_cdi_faults(host, container, gpus)
    yield from find_visible_faults(gpus, host.environ, has)
    yield from find_identity_faults(host, dists)
    yield from find_install_faults(host, dists)
    yield from find_library_path(host)
    yield from find_library_faults(host, dists)
    yield from find_pack_faults(host, gpus, has)
    yield from find_shm_faults(host)
    yield from find_limit_faults(host, gpus)


def look_quickly(host: Host) -> tuple[Finding, ...]:
    """What the images' entrypoint looks at, in its order and its words: devices, variables, shared memory."""
    return (
        *find_device_faults(host, container="any", is_quick=True),
        *find_library_path(host),
        *find_clash(host.environ),
        *find_shm_faults(host),
    )
