"""Sizes → one annotation of the image's manifest, and back: what a published image says of itself without a pull.

An annotation, not a label: labels are part of the config, which every container carries; a manifest is read by who
pulls or compares. A registry gives it with one request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rockiln.errors import ImageError
from rockiln.image_config import LAYER_OWNERS, LAYER_TITLE, LAYER_UNPACKED, encode
from rockiln.shape_faults import name_shape_fault
from rockiln.sizes.inventory import LayerSize, PackageSize, Sizes

ANNOTATION = "dev.rockiln.sizes"
SCHEMA = 1


def annotate(sizes: Sizes) -> dict[str, str]:
    """{"dev.rockiln.sizes": JSON}: packages as [version, bytes, files], archs, kinds, and where there are kernel packs
    their ops. Layers have their own."""
    packages = {name: [found.version, found.size_bytes, found.files] for name, found in sizes.packages.items()}
    value = {"schema": SCHEMA, "packages": packages, "archs": dict(sizes.archs), "kinds": dict(sizes.kinds)}
    value |= {"ops": {arch: dict(ops) for arch, ops in sizes.ops.items()}} if sizes.ops else {}
    return {ANNOTATION: encode(value).decode()}


def read_manifest(name: str, digest: str, manifest: Mapping[str, Any], diff_ids: Sequence[str] = ()) -> Sizes:
    """What a manifest tells. An image that rockiln did not write has layers, and no packages. Raises ImageError."""
    try:
        layers = _read_layers(manifest["layers"], diff_ids)
        said = json.loads((manifest.get("annotations") or {}).get(ANNOTATION, "{}"))
        packages = {
            str(owner): PackageSize(version=str(version), size_bytes=int(size_bytes), files=int(files))
            for owner, (version, size_bytes, files) in said.get("packages", {}).items()
        }
        archs = {str(arch): int(size_bytes) for arch, size_bytes in said.get("archs", {}).items()}
        ops = {
            str(arch): {str(op): int(number) for op, number in found.items()}
            for arch, found in said.get("ops", {}).items()
        }
        kinds = {str(kind): int(size_bytes) for kind, size_bytes in said.get("kinds", {}).items()}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as fault:
        hint = "is this an image for linux/amd64?"
        raise ImageError(f"{name}: not an image manifest: {name_shape_fault(fault)}", hint=hint) from fault
    return Sizes(
        name=name, digest=digest, compressed_bytes=sum(layer.compressed_bytes for layer in layers),
        unpacked_bytes=sum(package.size_bytes for package in packages.values()), packages=packages, archs=archs,
        kinds=kinds, layers=layers, code={}, ops=ops,
    )  # fmt: skip


def _read_layers(descriptors: Sequence[Mapping[str, Any]], diff_ids: Sequence[str]) -> tuple[LayerSize, ...]:
    layers = []
    known = (*diff_ids, *[""] * len(descriptors))
    for number, (descriptor, diff_id) in enumerate(zip(descriptors, known, strict=False), 1):
        said = descriptor.get("annotations") or {}
        layers.append(
            LayerSize(
                title=str(said.get(LAYER_TITLE) or f"layer {number}"),
                digest=str(descriptor["digest"]),
                diff_id=diff_id,
                compressed_bytes=int(descriptor["size"]),
                unpacked_bytes=int(said.get(LAYER_UNPACKED, 0)),
                owners=tuple(str(said.get(LAYER_OWNERS, "")).split()),
            )
        )
    return tuple(layers)
