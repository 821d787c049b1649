"""A tiny Debian of made-up packages → a layout, and what `rockiln attest` would attach to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rockiln.attest.attached import Subject, make_attachments, read_attached, write_attached
from rockiln.attest.push_attached import push_attachments
from rockiln.console import Console
from rockiln.image import Image
from rockiln.media_types import MANIFEST_TYPE
from rockiln.registry.client import RegistryClient
from rockiln.registry.protocol import Manifest, source_of_file
from rockiln.sbom.document import make_sbom
from rockiln.sign.keys import PrivateKey, generate_key
from rockiln.verification.check_image import CheckedImage, check_image
from rockiln.verification.sources import LayoutSource
from tiny_image import TarItem, make_tar, write_layout

KEY = generate_key()
SITE = "opt/venv/lib/python3.11/site-packages"
STATUS = b"""\
Package: tool
Status: install ok installed
Section: utils
Maintainer: Tool Makers <tool@example.org>
Architecture: amd64
Source: toolbox (1.0)
Version: 1.0-1
Description: a tool
 with more to say

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 3

Package: libtool
Status: install ok installed
Section: libs
Maintainer: Tool Makers <tool@example.org>
Architecture: amd64
Source: toolbox
Version: 1.0-2
Description: its library
"""
COPYRIGHT = b"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nLicense: GPL-2+\n"
METADATA = b"Metadata-Version: 2.4\nName: My_Wheel\nVersion: 2.0\nLicense-Expression: MIT\nSummary: does it\n\nText\n"
PACKAGES: tuple[dict[str, str], ...] = (
    {"kind": "deb", "name": "tool", "version": "1.0-1", "sha256": "1" * 64},
    {"kind": "deb", "name": "libtool", "version": "1.0-2", "sha256": "2" * 64},
    {"kind": "wheel", "name": "my-wheel", "version": "2.0", "sha256": "3" * 64},
)
RECORD = json.dumps({"target": "tiny", "rockiln": "0.1.0", "archs": ["gfx942"], "packages": PACKAGES}).encode()
OS: tuple[TarItem, ...] = (
    ("etc/", 0o755, ""), ("etc/os-release", 0o644, b'ID=debian\nVERSION_ID="12"\n'),
    ("var/lib/dpkg/", 0o755, ""), ("var/lib/dpkg/status", 0o644, STATUS), ("usr/share/doc/tool/", 0o755, ""),
    ("usr/share/doc/tool/copyright", 0o644, COPYRIGHT),
)  # fmt: skip
WHEELS: tuple[TarItem, ...] = (
    (f"{SITE}/my_wheel-2.0.dist-info/", 0o755, ""), (f"{SITE}/my_wheel-2.0.dist-info/METADATA", 0o644, METADATA),
    ("etc/rockiln/version.json", 0o644, RECORD),
)  # fmt: skip
LABELS = {"dev.rockiln.target": "tiny", "dev.rockiln.archs": "gfx942"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedImage:
    """A layout at `path`/image, and `path`/attached."""

    path: Path
    image: Image
    key: PrivateKey

    @property
    def source(self) -> LayoutSource:
        return LayoutSource(self.path / "image", self.path / "attached")


def make_provenance(**changed: Any) -> dict[str, Any]:
    """Materials are PACKAGES."""
    materials = [
        {"name": f"{one['kind']}:{one['name']}", "digest": {"sha256": one["sha256"]}} for one in PACKAGES
    ]
    definition = {"buildType": "x", "externalParameters": {}, "resolvedDependencies": materials, **changed}
    return {"buildDefinition": definition, "runDetails": {"builder": {"id": "https://example.org/ci"}}}


def write_image(path: Path, *more: TarItem, reference: str = "rockiln/tiny:1") -> Image:
    """Two layers; `more` goes into the second."""
    tars = (make_tar(OS), make_tar((*WHEELS, *more)))
    return write_layout(path, tars, {"Labels": LABELS}, reference)


def read_checked(path: Path) -> CheckedImage:
    return check_image(LayoutSource(path, path), Console(None), with_layers=True)


def sign_image(
    path: Path, image: Image, provenance: dict[str, Any] | None = None, key: PrivateKey = KEY
) -> SignedImage:
    """What belongs to the image at `path`/image."""
    checked = read_checked(path / "image")
    assert checked.installed is not None
    subject = Subject(digest=image.digest, size_bytes=checked.manifest_bytes, reference=image.reference)
    sbom = make_sbom(checked.installed, image.reference, image.digest)
    write_attached(path / "attached", make_attachments(subject, sbom, provenance or make_provenance(), key))
    return SignedImage(path=path, image=image, key=key)


def make_signed(path: Path) -> SignedImage:
    """Both."""
    return sign_image(path, write_image(path / "image"))


def push_signed(signed: SignedImage, repository: RegistryClient, tag: str = "") -> Manifest:
    """Image and what is attached to it, by digest or under a tag."""
    blobs = signed.path / "image/blobs/sha256"
    content = (blobs / signed.image.digest.removeprefix("sha256:")).read_bytes()
    manifest = Manifest(content=content, media_type=MANIFEST_TYPE)
    for digest in (signed.image.config_digest, *(layer.digest for layer in signed.image.layers)):
        repository.push_blob(source_of_file(blobs / digest.removeprefix("sha256:"), digest))
    repository.push_manifest(manifest, tag)
    push_attachments(repository, read_attached(signed.path / "attached"))
    return manifest
