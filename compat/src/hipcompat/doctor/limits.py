"""Host → too little shared memory, memory or processes for GPU work, by mounts and control groups."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hipcompat.doctor.finding import Finding
from hipcompat.doctor.host import Host, read_number
from hipcompat.doctor.topology import Gpu

_SHM = "/dev/shm"  # noqa: S108  # the mount, not a file in it
_MIN_SHM_KIB = 1 << 20
_MIN_MEMORY_BYTES = 8 << 30
_MIN_PROCESSES = 512
_NO_LIMIT_BYTES = 1 << 60
"""Version 1 writes a number close to 2^63 for no limit."""
_GROUPS = "/sys/fs/cgroup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """None: no limit, or not to be seen."""

    shm_kib: int | None
    memory_bytes: int | None
    processes: int | None
    cpus: float | None


def read_limits(host: Host) -> Limits:
    """The lowest of each along the way from this process's group to the root."""
    return Limits(
        shm_kib=_read_shm(host),
        memory_bytes=_find_lowest(host, "memory.max", "memory/memory.limit_in_bytes", _NO_LIMIT_BYTES),
        processes=_find_lowest(host, "pids.max", "pids/pids.max", _NO_LIMIT_BYTES),
        cpus=_read_cpus(host),
    )


def find_shm_faults(host: Host) -> Iterator[Finding]:
    """Docker's own 64 MiB are too small for collectives and data loaders; the words are the preflight's."""
    kib = _read_shm(host)
    if kib is not None and kib < _MIN_SHM_KIB:
        message = f"{_SHM} holds {kib // 1024} MiB, too little for several GPUs or data loaders:"
        advice = ("docker run --ipc=host, or --shm-size 8G",)
        yield Finding(rule="shm-small", severity="warning", message=message, advice=advice)


def find_limit_faults(host: Host, gpus: Sequence[Gpu]) -> Iterator[Finding]:
    """Control groups."""
    limits = read_limits(host)
    vram_bytes = max((gpu.vram_bytes for gpu in gpus), default=0)
    if limits.memory_bytes is not None and limits.memory_bytes < max(_MIN_MEMORY_BYTES, vram_bytes // 2):
        held = f"; a GPU here has {vram_bytes >> 30} GiB" if vram_bytes else ""
        yield Finding(
            rule="memory-limit", severity="warning",
            message=f"this control group may use {limits.memory_bytes / 2**30:.1f} GiB of memory{held}",
            advice=("loading a model passes through host memory; beyond the limit the kernel kills without a word",
                    "docker run --memory, or resources.limits.memory in Kubernetes"),
        )  # fmt: skip
    if limits.processes is not None and limits.processes < _MIN_PROCESSES:
        yield Finding(
            rule="process-limit", severity="warning",
            message=f"this control group may hold {limits.processes} threads",
            advice=("OpenBLAS, ROCr and data loaders start hundreds: docker run --pids-limit",),
        )  # fmt: skip


def _read_shm(host: Host) -> int | None:
    """The last mount wins. Only sizes in KiB, as the kernel prints them."""
    kib = None
    for line in (host.read("/proc/mounts") or "").splitlines():
        words = line.split()
        if len(words) >= 4 and words[1] == _SHM:
            size = words[3].rpartition("size=")[2].partition(",")[0] if "size=" in words[3] else ""
            number = read_number(size[:-1]) if size.endswith("k") else None
            kib = kib if number is None else number
    return kib


def _find_lowest(host: Host, name: str, old_path: str, no_limit: int) -> int | None:
    texts = [host.read(f"{folder}/{name}") for folder in _list_folders(host)] + [host.read(f"{_GROUPS}/{old_path}")]
    numbers = (read_number(text.strip()) for text in texts if text)
    return min((number for number in numbers if number is not None and number < no_limit), default=None)


def _read_cpus(host: Host) -> float | None:
    found = []
    for folder in _list_folders(host):
        words = (host.read(f"{folder}/cpu.max") or "").split()
        quota, period = map(read_number, words) if len(words) == 2 else (None, None)
        if quota is not None and period:
            found.append(quota / period)
    return min(found, default=None)


def _list_folders(host: Host) -> Iterator[str]:
    """Of version 2, from this process's group up. In a container with a namespace of its own that is the root."""
    group = next(
        (line[3:] for line in (host.read("/proc/self/cgroup") or "").splitlines() if line.startswith("0::")), "/"
    )
    group = posixpath.normpath(group)
    while group not in {"/", ""}:
        yield f"{_GROUPS}{group}"
        group = posixpath.dirname(group)
    yield _GROUPS
