"""The kernel's GPU topology → the GPUs that this image can use, or the reason why there are none."""

from __future__ import annotations

import os
from pathlib import Path

from record import read_record, say_unavailable

KFD = Path("/dev/kfd")
NODES = Path("/sys/class/kfd/kfd/topology/nodes")


def require_gpus(count: int) -> list[str]:
    """Architectures of the GPUs here, if there are `count` for which the image is made; else Unavailable."""
    if not KFD.exists():
        say_unavailable("no AMD GPU: /dev/kfd is not on this machine, or was not passed to the container")
    if not os.access(KFD, os.R_OK | os.W_OK):
        say_unavailable(f"/dev/kfd is there, but uid {os.getuid()} may not use it: --group-add {KFD.stat().st_gid}")
    found = [arch for arch in map(read_arch, sorted(NODES.glob("*/properties"))) if arch]
    archs = read_record()["archs"]
    usable = [arch for arch in found if arch in archs]
    if len(usable) < count:
        say_unavailable(f"needs {count} of {'+'.join(archs)}; here are {', '.join(found) or 'no GPUs'}")
    return usable


def read_arch(path: Path) -> str:
    """ "gfx942" from `gfx_target_version 90402`; "" for a CPU node."""
    rows = dict(line.split(maxsplit=1) for line in path.read_text().splitlines() if " " in line)
    number = int(rows.get("gfx_target_version", "0"))
    major, minor, stepping = number // 10000, number // 100 % 100, number % 100
    return f"gfx{major}{minor:x}{stepping:x}" if number else ""
