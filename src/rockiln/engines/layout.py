"""Image → its manifest and config, read from the OCI layout and compared with the digests that name them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rockiln.engines.protocol import Command
from rockiln.errors import EngineError
from rockiln.image import Image
from rockiln.readers import digest_of, is_digest
from rockiln.regular_files import open_regular, read_regular
from rockiln.shape_faults import name_shape_fault

MAX_BYTES = 16 << 20
REBUILD_HINT = "the image on disk is damaged: rockiln build --verify TARGET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How an image says that it wants to be started."""

    env: Mapping[str, str]
    entrypoint: tuple[str, ...]
    cmd: tuple[str, ...]
    workdir: str
    user: str
    """A name or number, with or without a group; "" is root."""

    def complete_argv(self, command: Command) -> tuple[str, ...]:
        """The whole command line, as container engines put it together."""
        if not command.use_entrypoint:
            return command.argv
        return self.entrypoint + (command.argv or self.cmd)


def locate_blob(image: Image, digest: str) -> Path:
    """Where the layout keeps the blob of this digest."""
    if not is_digest(digest):
        raise EngineError(f"{image.layout_path}: {digest!r} is not a sha256 digest", hint=REBUILD_HINT)
    return image.layout_path / "blobs" / digest.replace(":", "/")


def open_blob(path: Path) -> BinaryIO:
    """A blob, to be read on. Raises EngineError where it is no regular file."""
    try:
        return open_regular(path)
    except OSError as fault:
        raise EngineError(f"{path}: {fault.strerror}", hint=REBUILD_HINT) from fault


def read_verified(image: Image, digest: str) -> bytes:
    """The bytes of a small blob; EngineError if they are not what the digest says."""
    path = locate_blob(image, digest)
    try:
        content = read_regular(path, MAX_BYTES)
    except OSError as error:
        raise EngineError(f"{path}: {error.strerror}", hint=REBUILD_HINT) from error
    if digest_of(content) != digest:
        raise EngineError(f"{path}: the content has another hash than its name", hint=REBUILD_HINT)
    return content


def read_start(image: Image) -> Start:
    """How to start the image. Raises EngineError where manifest, config and Image do not agree."""
    manifest = _read_object(image, image.digest)
    config = _read_object(image, image.config_digest)
    try:
        agree = (
            manifest["config"]["digest"] == image.config_digest
            and [layer["digest"] for layer in manifest["layers"]] == [layer.digest for layer in image.layers]
            and config["rootfs"]["diff_ids"] == [layer.diff_id for layer in image.layers]
        )
        start = _parse_start(config.get("config") or {})
    except (KeyError, TypeError, ValueError) as error:
        what = name_shape_fault(error)
        raise EngineError(f"{image.layout_path}: not an OCI image: {what}", hint=REBUILD_HINT) from error
    if not agree:
        raise EngineError(f"{image.layout_path}: manifest, config and layers disagree", hint=REBUILD_HINT)
    return start


def _read_object(image: Image, digest: str) -> dict[str, Any]:
    try:
        value = json.loads(read_verified(image, digest))
    except ValueError as error:
        raise EngineError(f"{image.layout_path}: {digest} is not JSON: {error}", hint=REBUILD_HINT) from error
    if not isinstance(value, dict):
        raise EngineError(f"{image.layout_path}: {digest} is not a JSON object", hint=REBUILD_HINT)
    return value


def _parse_start(config: Mapping[str, Any]) -> Start:
    pairs = [entry.partition("=") for entry in config.get("Env") or ()]
    return Start(
        env={name: value for name, _, value in pairs},
        entrypoint=tuple(config.get("Entrypoint") or ()),
        cmd=tuple(config.get("Cmd") or ()),
        workdir=config.get("WorkingDir") or "/",
        user=config.get("User") or "",
    )
