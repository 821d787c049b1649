"""What was asked of an image's program, hashed → its answer from an earlier build, as JSON in the cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rockiln.sealed import read_sealed, write_sealed

VERSION = "2"
"""Raised when an answer's form or the way to get it changes."""


def hash_question(kind: str, parts: Iterable[str]) -> str:
    """Name of an answer: everything that it depends on."""
    digest = hashlib.sha256(f"{VERSION}\0{kind}\0".encode())
    for part in parts:
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def read_answer(cache_path: Path, kind: str, key: str) -> Any | None:
    """The answer, if there is a whole one."""
    body = read_sealed(_place(cache_path, kind, key))
    return None if body is None else json.loads(body)


def keep_answer(cache_path: Path, kind: str, key: str, answer: object) -> None:
    """Keep it for the next build; it appears whole or not at all."""
    write_sealed(_place(cache_path, kind, key), json.dumps(answer).encode())


def _place(cache_path: Path, kind: str, key: str) -> Path:
    return cache_path / "answers" / kind / f"{key}.json"
