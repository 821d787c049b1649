"""A compiled probe → Image: the smallest OCI layout that an engine runs, written without rockiln's own writer."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rockiln.image import Image, Layer

GZIP_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
TarItem = tuple[str, int, bytes | str]
"""Name, mode, and content; None-like text for a folder ends in "/"; "-> target" is a symlink, "=> path" a hard link."""


def compile_probe(folder: Path) -> Path:
    """tests/probe.c as a static program."""
    path = folder / "probe"
    source = Path(__file__).with_name("probe.c")
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, source], check=True)
    return path


def probe_items(probe: bytes) -> tuple[TarItem, ...]:
    """A root with the probe, some folders and accounts."""
    return (
        ("proc/", 0o755, ""), ("sys/", 0o755, ""), ("dev/", 0o755, ""), ("run/", 0o755, ""), ("tmp/", 0o1777, ""),
        ("etc/", 0o755, ""), ("etc/passwd", 0o644, b"root:x:0:0:root:/root:/bin/sh\nminer:x:900:901::/home/miner:\n"),
        ("etc/group", 0o644, b"root:x:0:\nminers:x:901:\n"), ("root/", 0o700, ""), ("work/", 0o755, ""),
        ("cache/", 0o1777, ""), ("probe", 0o755, probe), ("bin/", 0o755, ""), ("bin/probe", 0o777, "-> ../probe"),
        ("entry", 0o755, b"#!/probe out\n"),
    )  # fmt: skip


def make_tar(items: Iterable[TarItem]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, mode, content in items:
            member = tarfile.TarInfo(name.rstrip("/"))
            member.mode, member.mtime = mode, 315532800
            if isinstance(content, bytes):
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
                continue
            arrow, _, target = content.partition(" ")
            member.type = {"->": tarfile.SYMTYPE, "=>": tarfile.LNKTYPE}.get(arrow, tarfile.DIRTYPE)
            member.linkname = target
            archive.addfile(member)
    return buffer.getvalue()


def write_layout(
    folder: Path, tars: Iterable[bytes], start: Mapping[str, Any], reference: str = "rockiln-test/tiny:latest"
) -> Image:
    """An OCI layout below `folder` with one gzip layer a tar."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    layers = tuple(_write_layer(blobs, tar) for tar in tars)
    history = [{"created_by": "tests"} for _ in layers]
    config = {"architecture": "amd64", "os": "linux", "config": dict(start), "history": history}
    config["rootfs"] = {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]}
    config_digest, config_size = _write_json(blobs, config)
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": _describe("application/vnd.oci.image.config.v1+json", config_digest, config_size),
        "layers": [_describe(layer.media_type, layer.digest, layer.size_bytes) for layer in layers],
    }
    digest, size = _write_json(blobs, manifest)
    index = {"schemaVersion": 2, "manifests": [_describe(str(manifest["mediaType"]), digest, size)]}
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    return Image(
        target_id="tiny", layout_path=folder, digest=digest, config_digest=config_digest, layers=layers,
        reference=reference,
    )  # fmt: skip


def hash_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _describe(media_type: str, digest: str, size_bytes: int) -> dict[str, str | int]:
    return {"mediaType": media_type, "digest": digest, "size": size_bytes}


def _write_layer(blobs: Path, tar: bytes) -> Layer:
    middle = len(tar) // 2
    blob = gzip.compress(tar[:middle], mtime=0) + gzip.compress(tar[middle:], mtime=0)
    (blobs / hash_of(blob).removeprefix("sha256:")).write_bytes(blob)
    return Layer(
        digest=hash_of(blob), diff_id=hash_of(tar), size_bytes=len(blob), unpacked_bytes=len(tar),
        media_type=GZIP_LAYER, owners=("test",), title="test",
    )  # fmt: skip


def _write_json(blobs: Path, value: object) -> tuple[str, int]:
    content = json.dumps(value).encode()
    (blobs / hash_of(content).removeprefix("sha256:")).write_bytes(content)
    return hash_of(content), len(content)
