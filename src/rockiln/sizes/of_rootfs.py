"""Rootfs, contents and finished layers → Inventory of the image that was just built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rockiln.contents import Contents
from rockiln.image import Image
from rockiln.layers import LayerPlan
from rockiln.manifest import Entry
from rockiln.rootfs import Rootfs
from rockiln.sizes.device_code import MIN_BYTES, measure_device_code
from rockiln.sizes.inventory import FileSize, Inventory, LayerSize, Sizes, add_up
from rockiln.sizes.kinds import find_kind, find_named_arch


def measure_rootfs(name: str, rootfs: Rootfs, plans: Sequence[LayerPlan], contents: Contents) -> Inventory:
    """Every file, before layers are compressed: their digests and compressed sizes are still empty."""
    layers = {owner: plan.title for plan in plans for owner in plan.owners}
    files = {path: size_file(entry, layers) for path, entry in rootfs.entries.items() if entry.kind == "file"}
    return Inventory(
        name=name,
        digest="",
        files=files,
        versions={owner: found.version for owner, found in rootfs.owners.items()},
        layers=(),
        code=_measure_code(files.values(), contents),
    )


def size_file(entry: Entry, layers: Mapping[str, str]) -> FileSize:
    """An entry of a regular file; `layers` has the layer's title of each owner."""
    return FileSize(
        entry.path, entry.size_bytes, entry.sha256, entry.owner, layers.get(entry.owner, ""), find_kind(entry.path)
    )


def complete_sizes(sizes: Sizes, image: Image) -> Sizes:
    """The same with what is known when the image is written: digests and compressed bytes."""
    layers = describe_layers(image)
    return Sizes(
        name=sizes.name, digest=image.digest, compressed_bytes=image.size_bytes, unpacked_bytes=sizes.unpacked_bytes,
        packages=sizes.packages, archs=sizes.archs, kinds=sizes.kinds, layers=layers, code=sizes.code,
    )  # fmt: skip


def describe_layers(image: Image) -> tuple[LayerSize, ...]:
    """Layers of an image that rockiln wrote."""
    return tuple(
        LayerSize(
            title=layer.title, digest=layer.digest, diff_id=layer.diff_id, compressed_bytes=layer.size_bytes,
            unpacked_bytes=layer.unpacked_bytes, owners=layer.owners,
        )
        for layer in image.layers
    )  # fmt: skip


def add_up_rootfs(name: str, rootfs: Rootfs, plans: Sequence[LayerPlan], contents: Contents) -> Sizes:
    """The sums of a tree that is about to become an image."""
    return add_up(measure_rootfs(name, rootfs, plans, contents))


def _measure_code(files: Iterable[FileSize], contents: Contents) -> dict[str, dict[str, int]]:
    """Device code of each file that holds some; each content is looked at once."""
    known: dict[str, dict[str, int]] = {}
    found = {}
    for file in files:
        if named := find_named_arch(file.path) if file.kind == "kernel data" else "":
            found[file.path] = {named: file.size_bytes}
        elif file.size_bytes >= MIN_BYTES:
            if file.sha256 not in known:
                with contents.open(file.sha256) as opened:
                    known[file.sha256] = measure_device_code(opened)
            if known[file.sha256]:
                found[file.path] = known[file.sha256]
    return {path: targets for path, targets in found.items() if any(targets.values())}
