"""build/TARGET/*.json, or images/NAME/sizes/TARGET.json → Sizes and files; and the second one written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rockiln.built_values import has_value, read_value
from rockiln.disk import write_whole
from rockiln.errors import ImageError, UsageError
from rockiln.shape_faults import name_shape_fault
from rockiln.sizes.annotation import ANNOTATION, annotate, read_manifest
from rockiln.sizes.difference import Measured
from rockiln.sizes.inventory import FileSize, LayerSize, PackageSize, Sizes
from rockiln.sizes.kinds import find_kind

_FILE = "file"


def read_measured(folder: Path) -> Measured | None:
    """What the last build in a target's folder left; None where there was none. Raises UsageError for damage."""
    if not has_value(folder, "sizes") or not has_value(folder, "rootfs"):
        return None
    sizes = _decode(read_value(folder, "sizes"))
    rootfs = read_value(folder, "rootfs")
    titles = {owner: layer.title for layer in sizes.layers for owner in layer.owners}
    files = {
        path: FileSize(path, entry[5], entry[6], entry[8], titles.get(entry[8], ""), find_kind(path))
        for path, entry in rootfs["entries"].items()
        if entry[1] == _FILE
    }
    return Measured(sizes=sizes, files=files)


def read_sizes(path: Path) -> Sizes | None:
    """A sizes.json; None where there is none that this rockiln can read."""
    value = _read_json(path)
    try:
        return None if value is None else _decode(value)
    except (KeyError, TypeError, AttributeError):
        return None


def _decode(value: Mapping[str, Any]) -> Sizes:
    packages = {owner: PackageSize(**found) for owner, found in value["packages"].items()}
    layers = tuple(LayerSize(**{**layer, "owners": tuple(layer["owners"])}) for layer in value["layers"])
    return Sizes(**{**value, "packages": packages, "layers": layers})


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def write_record(sizes: Sizes, path: Path) -> None:
    """Sums that a person accepts, a line a package, to be committed: a change of size is then seen in review."""
    record = {"compressed_bytes": sizes.compressed_bytes, **json.loads(annotate(sizes)[ANNOTATION])}
    rows = (f"{json.dumps(key)}: {_encode_rows(value)}" for key, value in record.items())
    write_whole(path, ("{\n  " + ",\n  ".join(rows) + "\n}\n").encode())


def _encode_rows(value: object) -> str:
    if not isinstance(value, dict):
        return json.dumps(value)
    rows = ",\n".join(f"    {json.dumps(key)}: {json.dumps(item)}" for key, item in sorted(value.items()))
    return f"{{\n{rows}\n  }}"


def read_record(path: Path) -> Sizes | None:
    """What `write_record` wrote; None where there is no such file. Raises UsageError for one that was damaged."""
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_bytes())
        layers = [{"digest": "", "size": record.pop("compressed_bytes")}]
        manifest = {"layers": layers, "annotations": {ANNOTATION: json.dumps(record)}}
        return read_manifest("/".join(path.parts[-4:]), "", manifest)
    except (ValueError, KeyError, TypeError, AttributeError, ImageError) as fault:
        hint = "rockiln build --record-sizes TARGET writes it anew"
        raise UsageError(f"{path}: not a record of sizes: {name_shape_fault(fault)}", hint=hint) from fault
