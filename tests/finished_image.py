"""Image → its files as a container would see them: every layer of the OCI layout, laid over each other."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from rockiln.image import Image


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedImage:
    """What was built: paths without leading slash, and the image's config."""

    image: Image
    config: Mapping[str, Any]
    files: Mapping[str, bytes]
    """Regular files, hard links included."""
    links: Mapping[str, str]
    """Symlinks, as written."""

    def resolve(self, path: str) -> str:
        """Follow symlinks in every part of an image path, inside the image only."""
        done = PurePosixPath("/")
        waiting = list(PurePosixPath(path.lstrip("/")).parts)
        for _ in range(1000):
            if not waiting:
                return str(done).lstrip("/")
            part = waiting.pop(0)
            done = done.parent if part == ".." else done / part
            if target := self.links.get(str(done).lstrip("/")):
                done = PurePosixPath("/") if target.startswith("/") else done.parent
                waiting = list(PurePosixPath(target.lstrip("/")).parts) + waiting
        raise AssertionError(f"{path} leads in a circle")

    def read(self, path: str) -> bytes:
        """A file's bytes, symlinks followed."""
        return self.files[self.resolve(path)]


def read_finished(image: Image) -> FinishedImage:
    """Read every layer into memory. Later layers win; rockiln writes no whiteouts."""
    files: dict[str, bytes] = {}
    links: dict[str, str] = {}
    for layer in image.layers:
        with tarfile.open(_blob_path(image, layer.digest)) as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                if member.issym():
                    links[name] = member.linkname
                elif member.islnk():
                    files[name] = files[member.linkname.removeprefix("./")]
                elif member.isfile() and (stream := archive.extractfile(member)):
                    files[name] = stream.read()
    config = json.loads(_blob_path(image, image.config_digest).read_bytes())
    return FinishedImage(image=image, config=config, files=files, links=links)


def _blob_path(image: Image, digest: str) -> Path:
    return image.layout_path / "blobs" / digest.replace(":", "/")
