"""An OCI layout + one more layer, or other settings → a new layout: what somebody's Dockerfile would make of it."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tiny_image import GZIP_LAYER, TarItem, make_tar


def add_layer(
    layout: Path, folder: Path, items: Iterable[TarItem], env: Mapping[str, str] | None = None
) -> Path:
    """The layout `folder`, whose blobs are links to those of `layout`."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)
    for path in (layout / "blobs/sha256").iterdir():
        os.link(path, blobs / path.name)
    index = json.loads((layout / "index.json").read_text())
    manifest = _read(layout, index["manifests"][0]["digest"])
    config = _read(layout, manifest["config"]["digest"])
    tar = make_tar(items)
    blob = gzip.compress(tar, mtime=0)
    manifest["layers"].append(_describe(GZIP_LAYER, _write(blobs, blob)))
    config["rootfs"]["diff_ids"].append(f"sha256:{hashlib.sha256(tar).hexdigest()}")
    config["config"]["Env"] += [f"{name}={value}" for name, value in (env or {}).items()]
    manifest["config"] = _describe(manifest["config"]["mediaType"], _write(blobs, json.dumps(config).encode()))
    index["manifests"] = [_describe(index["manifests"][0]["mediaType"], _write(blobs, json.dumps(manifest).encode()))]
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    return folder


def _read(layout: Path, digest: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((layout / "blobs/sha256" / digest.removeprefix("sha256:")).read_bytes())
    return value


def _write(blobs: Path, content: bytes) -> tuple[str, int]:
    digest = hashlib.sha256(content).hexdigest()
    (blobs / digest).write_bytes(content)
    return f"sha256:{digest}", len(content)


def _describe(media_type: str, written: tuple[str, int]) -> dict[str, object]:
    return {"mediaType": media_type, "digest": written[0], "size": written[1]}
