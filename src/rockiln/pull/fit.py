"""Archs of an image + HostFacts → Fit: which GPUs of the host it serves; why it serves none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rockiln.pull.host import HostFacts, HostGpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """`reason` is set where the image is of no use on this host."""

    served: tuple[HostGpu, ...]
    left_out: tuple[HostGpu, ...]
    """GPUs of the host that the image has no code for."""
    reason: str = ""


def fit_image(archs: Sequence[str], host: HostFacts) -> Fit:
    """An image without archs is for CPUs, and fits everywhere."""
    if not archs:
        return Fit(served=(), left_out=())
    wanted = {arch.partition(":")[0] for arch in archs}
    served = tuple(gpu for gpu in host.gpus if gpu.arch in wanted)
    left_out = tuple(gpu for gpu in host.gpus if gpu.arch not in wanted)
    if served:
        return Fit(served=served, left_out=left_out)
    needs = f"the image has code for {', '.join(archs)}"
    if left_out:
        return Fit(served=(), left_out=left_out, reason=f"{needs}, and this host has {describe_gpus(left_out)}")
    return Fit(served=(), left_out=(), reason=f"{needs}, and no AMD GPU is to be seen on this host")


def describe_gpus(gpus: Sequence[HostGpu]) -> str:
    """ "2 of gfx942, gfx1100"."""
    counts = Counter(gpu.arch for gpu in gpus)
    return ", ".join(f"{count} of {arch}" if count > 1 else arch for arch, count in counts.items())
