"""Bytes ⇄ a file that begins with their hash: one that was cut or changed is as good as none, and is made again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rockiln.disk import write_whole


def write_sealed(path: Path, body: bytes) -> None:
    """Write `body` under its hash, whole or not at all."""
    write_whole(path, _hash(body) + b"\n" + body)


def read_sealed(path: Path) -> bytes | None:
    """What was written; None where nothing was, or where it is damaged."""
    try:
        sha256, _, body = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    return body if sha256 == _hash(body) else None


def _hash(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode("ascii")
