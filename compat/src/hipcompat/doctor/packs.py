"""Host + GPUs → kernel packs (rockiln-kernels) that are installed, against the GPUs that are here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hipcompat.doctor.finding import Finding
from hipcompat.doctor.host import Host
from hipcompat.doctor.topology import Gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """docs/packs.md has the format; only these fields are read."""

    path: str
    arch: str
    kernels: int


def list_packs(host: Host) -> tuple[Pack, ...]:
    """Those in packages rockiln_kernels_ARCH. A damaged manifest counts as no pack."""
    return tuple(
        pack
        for site in host.sites
        for name in host.list(site)
        if name.startswith("rockiln_kernels_") and not name.endswith("-info")
        for pack in _read_pack(host, f"{site}/{name}/pack/manifest.json")
    )


def _read_pack(host: Host, path: str) -> Iterator[Pack]:
    try:
        manifest = json.loads(host.read(path) or "")
        yield Pack(path=path, arch=str(manifest["arch"]), kernels=len(manifest["kernels"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return


def find_pack_faults(host: Host, gpus: Sequence[Gpu], has: frozenset[str]) -> Iterator[Finding]:
    """GPUs for which there is no pack, and packs for which there is no GPU."""
    packs = list_packs(host)
    archs = list(dict.fromkeys(gpu.arch for gpu in gpus))
    if gpus and (packs or "rockiln-kernels" in has):
        for arch in archs:
            if arch not in {pack.arch for pack in packs}:
                there = ", ".join(pack.arch for pack in packs) or "none"
                yield Finding(rule="pack-missing", severity="warning",
                              message=f"no kernel pack for {arch}: the framework's own ops run (packs here: {there})",
                              advice=(f"pip install rockiln-kernels-{arch}",))  # fmt: skip
        for pack in packs:
            if pack.arch not in archs:
                yield Finding(rule="pack-for-no-gpu-here", severity="note",
                              message=f"the pack of {pack.arch} ({pack.kernels} kernels) fits no GPU here",
                              advice=("an image of this arch would be smaller",))  # fmt: skip
