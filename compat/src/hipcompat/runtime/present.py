"""This machine and process → its archs, which GPUs are visible and why, and whether torch is NVIDIA's build."""

from __future__ import annotations

import sys

from hipcompat.doctor.host import Host, read_this_host
from hipcompat.doctor.packages import list_distributions, read_identities
from hipcompat.doctor.topology import list_gpus
from hipcompat.doctor.visible import Visible, resolve_visible


def visible_devices(host: Host | None = None) -> Visible:
    """Which of this machine's GPUs a HIP program sees, in its order; `.explain()` says why. Nothing is changed."""
    host = host or read_this_host()
    return resolve_visible(list_gpus(host), host.environ)


def list_archs(host: Host | None = None) -> tuple[str, ...]:
    """The arch of each visible GPU by its number in HIP, as the kernel says; empty where there is none."""
    host = host or read_this_host()
    gpus = list_gpus(host)
    return tuple(gpus[index].arch for index in resolve_visible(gpus, host.environ).gpus)


def is_nvidia(host: Host | None = None) -> bool:
    """Whether this Python's torch is a CUDA build: what a capability of (9, 4) does not say. It is not imported."""
    torch = sys.modules.get("torch") if host is None else None
    if torch is not None:
        return getattr(getattr(torch, "version", None), "cuda", None) is not None
    host = host or read_this_host()
    found = read_identities(host, list_distributions(host))
    return any(one.framework == "torch" and bool(one.cuda) and not one.hip for one in found)
