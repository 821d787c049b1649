"""Rootfs → LayerPlans: what changes together lies together, most stable first, each layer with a key of its own.

A layer is decided by its owners alone: the same owners give the same layer, bit for bit, in every target.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from tarfile import BLOCKSIZE
from typing import get_args

from rockiln.manifest import Entry
from rockiln.rootfs import Owner, OwnerClass, Rootfs
from rockiln.tar_stream import END, sort_members

FORMAT = 1
"""Part of every key: raised when the same entries give another archive."""

OWN_LAYER_BYTES = 8 << 20
"""What all packages of one origin must hold, unpacked, to get a layer of their own."""

LAYER_LIMIT = 127
"""overlayfs as Docker uses it mounts at most 128, and one is the container's own."""

CLASSES: tuple[OwnerClass, ...] = get_args(OwnerClass)
IMAGE_OWNER = "rockiln"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPlan:
    """One layer before it is written."""

    title: str
    """Shown in history, e.g. "os: 84 packages"."""
    owners: tuple[str, ...]
    entries: tuple[Entry, ...]
    """In archive order, with every folder above them."""
    key: str
    """Hash of all that decides the layer's bytes, except for how they are compressed."""

    @property
    def unpacked_bytes(self) -> int:
        return sum(entry.size_bytes for entry in self.entries)

    @property
    def archive_bytes(self) -> int:
        """Size of the tar stream, but for the few headers that take more than one block."""
        return sum(BLOCKSIZE - (-entry.size_bytes // BLOCKSIZE) * BLOCKSIZE for entry in self.entries) + len(END)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Owners that go into one layer; `origin` is "" for the many small ones of a class."""

    stability: OwnerClass
    origin: str
    owners: tuple[Owner, ...]
    size_bytes: int

    @property
    def place(self) -> tuple[int, str]:
        return CLASSES.index(self.stability), self.origin

    def join(self, other: _Group) -> _Group:
        first, second = sorted((self, other), key=lambda group: group.place)
        owners = tuple(sorted((*first.owners, *second.owners), key=lambda owner: owner.name))
        return _Group(
            stability=second.stability, origin="", owners=owners, size_bytes=first.size_bytes + second.size_bytes
        )


def split(rootfs: Rootfs, budget: int) -> tuple[LayerPlan, ...]:
    """At most `budget` layers, the most stable first; what rockiln itself generates is in the last one."""
    sizes = _measure_owners(rootfs)
    groups = _keep_budget(_group_owners(rootfs.owners, sizes), min(max(budget, 1), LAYER_LIMIT))
    return tuple(_plan_layer(group, rootfs) for group in groups)


def _measure_owners(rootfs: Rootfs) -> dict[str, int]:
    """Bytes of each owner that has at least one path."""
    sizes: dict[str, int] = {}
    for entry in rootfs.entries.values():
        sizes[entry.owner] = sizes.get(entry.owner, 0) + entry.size_bytes
    return sizes


def _group_owners(owners: Mapping[str, Owner], sizes: Mapping[str, int]) -> list[_Group]:
    """A group for each large origin, and one for the rest of each class. Sizes of other origins play no part."""
    present = [owners.get(name) or _unknown_owner(name) for name in sorted(sizes)]
    by_origin: dict[tuple[OwnerClass, str], int] = {}
    for owner in present:
        where = (owner.stability, owner.origin)
        by_origin[where] = by_origin.get(where, 0) + sizes[owner.name]
    members: dict[tuple[OwnerClass, str], list[Owner]] = {}
    for owner in present:
        is_large = by_origin[owner.stability, owner.origin] >= OWN_LAYER_BYTES and owner.stability != "image"
        members.setdefault((owner.stability, owner.origin if is_large else ""), []).append(owner)
    groups = (_make_group(*where, found, sizes) for where, found in members.items())
    return sorted(groups, key=lambda group: group.place)


def _make_group(stability: OwnerClass, origin: str, owners: list[Owner], sizes: Mapping[str, int]) -> _Group:
    size_bytes = sum(sizes[owner.name] for owner in owners)
    return _Group(stability=stability, origin=origin, owners=tuple(owners), size_bytes=size_bytes)


def _unknown_owner(name: str) -> Owner:
    """Paths that no package brought are the image's own."""
    return Owner(name=name, version="", stability="image", origin=name)


def _keep_budget(groups: list[_Group], budget: int) -> list[_Group]:
    """Join the two smallest groups of one class, as long as there are too many; then neighbours of any class."""
    while len(groups) > budget:
        by_class = [[group for group in groups if group.stability == name] for name in CLASSES]
        pairs = [sorted(found, key=lambda group: (group.size_bytes, group.place))[:2] for found in by_class]
        pairs = [pair for pair in pairs if len(pair) == 2] or [list(pair) for pair in itertools.pairwise(groups)]
        one, other = min(pairs, key=lambda pair: (pair[0].size_bytes + pair[1].size_bytes, pair[0].place))
        rest = [group for group in groups if group is not one and group is not other]
        groups = sorted([*rest, one.join(other)], key=lambda group: group.place)
    return groups


def _plan_layer(group: _Group, rootfs: Rootfs) -> LayerPlan:
    names = frozenset(owner.name for owner in group.owners)
    owned = [entry for entry in rootfs.entries.values() if entry.owner in names]
    entries = tuple(sort_members(_with_folders(_free_hardlinks(owned, rootfs.entries), rootfs.entries)))
    return LayerPlan(title=_title(group), owners=tuple(sorted(names)), entries=entries, key=hash_entries(entries))


def _free_hardlinks(owned: Iterable[Entry], entries: Mapping[str, Entry]) -> Iterable[Entry]:
    """A hardlink to a file of another layer becomes a file: layers are written, and shared, one by one."""
    owned = list(owned)
    here = {entry.path for entry in owned if entry.kind == "file"}
    for entry in owned:
        if entry.kind == "hardlink" and entry.link not in here:
            target = entries[entry.link]
            yield target._replace(path=entry.path, owner=entry.owner)
        else:
            yield entry


def _with_folders(owned: Iterable[Entry], entries: Mapping[str, Entry]) -> Iterable[Entry]:
    """The entries and every folder above them, each once, with its real mode."""
    found: dict[str, Entry] = {}
    for entry in owned:
        found[entry.path] = entry
        folder = entry.path.rpartition("/")[0]
        while folder and folder not in found:
            found[folder] = entries[folder]
            folder = folder.rpartition("/")[0]
    return found.values()


def hash_entries(entries: Iterable[Entry]) -> str:
    """The key of a layer. Who owns a path does not matter: a folder's owner may differ between targets."""
    digest = hashlib.sha256(f"rockiln layer {FORMAT}\n".encode())
    for entry in entries:
        digest.update(("\0".join(map(str, entry[:-1])) + "\n").encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _title(group: _Group) -> str:
    if group.stability == "image":
        return "image: what rockiln generates"
    if len(group.owners) == 1:
        owner = group.owners[0]
        return f"{group.stability}: {owner.name.partition(':')[2]} {owner.version}"
    kinds = {owner.name.partition(":")[0] for owner in group.owners}
    noun = "wheels" if kinds == {"wheel"} else "packages"
    return f"{group.stability}: {group.origin + ', ' if group.origin else ''}{len(group.owners)} {noun}"
