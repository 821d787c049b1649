"""Files of an image, with owners and layers → Inventory, and its sums → Sizes: what build/TARGET/sizes.json holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

HOST = "host"
"""Stands for the arch of every byte that is no device code."""


class FileSize(NamedTuple):
    """One regular file. A hardlink is no file of its own: its bytes are counted once."""

    path: str
    size_bytes: int
    sha256: str
    owner: str
    layer: str
    """Title of the layer."""
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSize:
    """A layer: both numbers as a registry and a disk see them."""

    title: str
    digest: str
    """Of the compressed blob; "" where an engine keeps none."""
    diff_id: str
    """Of the tar stream; "" where a registry was asked for the manifest only."""
    compressed_bytes: int
    unpacked_bytes: int
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSize:
    """What one owner brought."""

    version: str
    size_bytes: int
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Every file of one image."""

    name: str
    digest: str
    files: Mapping[str, FileSize]
    versions: Mapping[str, str]
    """Owner → version."""
    layers: tuple[LayerSize, ...]
    code: Mapping[str, Mapping[str, int]]
    """Path → target → bytes of device code; files without any are left out."""
    ops: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Arch → op → variants in its kernel pack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The sums. Packages, archs and kinds each add up to `unpacked_bytes`."""

    name: str
    """Target id, or where the image was found."""
    digest: str
    compressed_bytes: int
    unpacked_bytes: int
    packages: Mapping[str, PackageSize]
    archs: Mapping[str, int]
    kinds: Mapping[str, int]
    layers: tuple[LayerSize, ...]
    code: Mapping[str, Mapping[str, int]]
    ops: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def add_up(inventory: Inventory) -> Sizes:
    """Sum by everything that a person may ask for."""
    files = inventory.files.values()
    unpacked_bytes = sum(file.size_bytes for file in files)
    archs = _sum(pair for targets in inventory.code.values() for pair in targets.items())
    host_bytes = unpacked_bytes - sum(archs.values())
    return Sizes(
        name=inventory.name,
        digest=inventory.digest,
        compressed_bytes=sum(layer.compressed_bytes for layer in inventory.layers),
        unpacked_bytes=unpacked_bytes,
        packages=_sum_packages(inventory),
        archs={**archs, HOST: host_bytes},
        kinds=_sum((file.kind, file.size_bytes) for file in files),
        layers=inventory.layers,
        code=inventory.code,
        ops=inventory.ops,
    )


def _sum_packages(inventory: Inventory) -> dict[str, PackageSize]:
    sums = _sum((file.owner, file.size_bytes) for file in inventory.files.values())
    counts = _sum((file.owner, 1) for file in inventory.files.values())
    return {
        owner: PackageSize(version=inventory.versions.get(owner, ""), size_bytes=sums[owner], files=counts[owner])
        for owner in sums
    }


def _sum(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, amount in pairs:
        sums[name] = sums.get(name, 0) + amount
    return dict(sorted(sums.items()))
