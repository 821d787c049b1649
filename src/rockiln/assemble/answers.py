"""What was asked of an image's program, hashed → its answer from an earlier build, as JSON in the cache."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rockiln.disk import disk_faults_named

VERSION = "1"
"""Raised when an answer's form or the way to get it changes."""


def hash_question(kind: str, parts: Iterable[str]) -> str:
    """Name of an answer: everything that it depends on."""
    digest = hashlib.sha256(f"{VERSION}\0{kind}\0".encode())
    for part in parts:
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def read_answer(cache_path: Path, kind: str, key: str) -> Any | None:
    """The answer, if there is a whole one."""
    try:
        return json.loads(_place(cache_path, kind, key).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def keep_answer(cache_path: Path, kind: str, key: str, answer: object) -> None:
    """Keep it for the next build; it appears whole or not at all."""
    path = _place(cache_path, kind, key)
    partial_path = path.with_name(f".{key}.{os.getpid()}.{secrets.token_hex(4)}")
    with disk_faults_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial_path.write_text(json.dumps(answer), encoding="utf-8")
        partial_path.replace(path)


def _place(cache_path: Path, kind: str, key: str) -> Path:
    return cache_path / "answers" / kind / f"{key}.json"
