"""Bytes → a file that appears whole or not at all."""

from __future__ import annotations

from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """In place of what is there. Where writing fails, with an OSError, that stays, and nothing else is left."""
    beside_path = path.with_name(f"{path.name}.part")
    try:
        beside_path.write_bytes(content)
        beside_path.replace(path)
    except BaseException:
        beside_path.unlink(missing_ok=True)
        raise
