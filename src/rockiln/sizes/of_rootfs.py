"""Rootfs, contents and finished layers → Inventory of the image that was just built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.image import Image
from rockiln.layers import LayerPlan
from rockiln.manifest import Entry
from rockiln.rootfs import Rootfs
from rockiln.sizes.inventory import FileSize, Inventory, LayerSize, Sizes, add_up
from rockiln.sizes.kinds import find_kind
from rockiln.sizes.measured_code import measure_files
from rockiln.sizes.pack_ops import MANIFEST, count_ops


def add_up_rootfs(
    name: str, rootfs: Rootfs, plans: Sequence[LayerPlan], contents: Contents, cache_path: Path, console: Console
) -> Sizes:
    """The sums of a tree that is about to become an image: digests and compressed sizes of layers are still empty.

    Raises IntegrityError for a content that is not what its name says.
    """
    layers = {owner: plan.title for plan in plans for owner in plan.owners}
    files = {path: size_file(entry, layers) for path, entry in rootfs.entries.items() if entry.kind == "file"}
    inventory = Inventory(
        name=name,
        digest="",
        files=files,
        versions={owner: found.version for owner, found in rootfs.owners.items()},
        layers=(),
        code=measure_files(files.values(), contents, cache_path, console),
        ops=count_ops(
            contents.path_of(entry.sha256).read_bytes()
            for path, entry in sorted(rootfs.entries.items())
            if entry.kind == "file" and MANIFEST.fullmatch(path)
        ),
    )
    return add_up(inventory)


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
        ops=sizes.ops,
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
