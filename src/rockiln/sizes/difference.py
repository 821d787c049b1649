"""Two measured images → Difference: what grew, shrank, came and went; by package, arch, kind, layer and file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rockiln.sizes.inventory import FileSize, LayerSize, Sizes


class Change(NamedTuple):
    """One thing of both images, or of one. Versions are "" where there are none."""

    name: str
    before_bytes: int
    after_bytes: int
    before_version: str = ""
    after_version: str = ""
    what: str = "changed"
    """"added", "removed" or "changed"."""

    @property
    def growth(self) -> int:
        return self.after_bytes - self.before_bytes


class Moved(NamedTuple):
    """A number of both images; None where one has no such thing."""

    name: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One side of a comparison."""

    sizes: Sizes
    files: Mapping[str, FileSize] | None = None
    """None where nobody tells: a published image that was not pulled."""
    smoke: Mapping[str, float] | None = None
    """Tier → seconds that its checks took; None where nobody has smoked it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Only what differs is listed, the largest growth first."""

    old: str
    new: str
    compressed: Change
    unpacked: Change
    packages: tuple[Change, ...]
    archs: tuple[Change, ...]
    kinds: tuple[Change, ...]
    shared_layers: tuple[LayerSize, ...]
    """Layers that both have."""
    old_layers: tuple[LayerSize, ...]
    new_layers: tuple[LayerSize, ...]
    """What who has the old image must pull."""
    files: tuple[Change, ...] | None
    """None where one of the images does not tell: a published one that was not pulled."""
    ops: tuple[Moved, ...] = ()
    """ "gfx942 rms_norm": variants in kernel packs, where the numbers differ."""
    smoke: tuple[Moved, ...] = ()
    """Seconds by tier, of whichever image they are known."""


def compare(older: Measured, newer: Measured) -> Difference:
    """All that differs between two images."""
    old, new = older.sizes, newer.sizes
    kept = {_identify(layer) for layer in new.layers} & {_identify(layer) for layer in old.layers}
    files = None if older.files is None or newer.files is None else _compare_files(older.files, newer.files)
    return Difference(
        old=old.name,
        new=new.name,
        compressed=Change("compressed", old.compressed_bytes, new.compressed_bytes),
        unpacked=Change("unpacked", old.unpacked_bytes, new.unpacked_bytes),
        packages=compare_packages(old, new),
        archs=_compare_sums(old.archs, new.archs),
        kinds=_compare_sums(old.kinds, new.kinds),
        shared_layers=tuple(layer for layer in new.layers if _identify(layer) in kept),
        old_layers=tuple(layer for layer in old.layers if _identify(layer) not in kept),
        new_layers=tuple(layer for layer in new.layers if _identify(layer) not in kept),
        files=files,
        ops=_compare_ops(old, new),
        smoke=_compare_smoke(older.smoke or {}, newer.smoke or {}),
    )


def _compare_ops(old: Sizes, new: Sizes) -> tuple[Moved, ...]:
    before, after = (
        {f"{arch} {op}": number for arch, ops in one.ops.items() for op, number in ops.items()} for one in (old, new)
    )
    moved = (Moved(name, before.get(name), after.get(name)) for name in sorted(before.keys() | after.keys()))
    return tuple(one for one in moved if one.before != one.after)


def _compare_smoke(old: Mapping[str, float], new: Mapping[str, float]) -> tuple[Moved, ...]:
    return tuple(Moved(tier, old.get(tier), new.get(tier)) for tier in sorted(old.keys() | new.keys()))


def compare_packages(old: Sizes, new: Sizes) -> tuple[Change, ...]:
    """Packages that came, went, or have another size or version."""
    changes = []
    for name in old.packages.keys() | new.packages.keys():
        before, after = old.packages.get(name), new.packages.get(name)
        if not (before and after and (before.version, before.size_bytes) == (after.version, after.size_bytes)):
            changes.append(
                Change(
                    name, before.size_bytes if before else 0, after.size_bytes if after else 0,
                    before.version if before else "", after.version if after else "", _name_change(before, after),
                )
            )  # fmt: skip
    return _sort(changes)


def _compare_sums(old: Mapping[str, int], new: Mapping[str, int]) -> tuple[Change, ...]:
    names = sorted(old.keys() | new.keys())
    return _sort([
        Change(name, old.get(name, 0), new.get(name, 0), what=_name_change(old.get(name), new.get(name)))
        for name in names
        if old.get(name) != new.get(name)
    ])


def _compare_files(old: Mapping[str, FileSize], new: Mapping[str, FileSize]) -> tuple[Change, ...]:
    changes = []
    for path in old.keys() | new.keys():
        before, after = old.get(path), new.get(path)
        if before and after and (before.sha256, before.size_bytes) == (after.sha256, after.size_bytes):
            continue
        sizes = (before.size_bytes if before else 0, after.size_bytes if after else 0)
        changes.append(Change(path, *sizes, what=_name_change(before, after)))
    return _sort(changes)


def _identify(layer: LayerSize) -> str:
    """What is in a layer, however it is compressed."""
    return layer.diff_id or layer.digest


def _name_change(before: object, after: object) -> str:
    return "added" if before is None else "removed" if after is None else "changed"


def _sort(changes: list[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda change: (-change.growth, change.name)))
