"""What sandbox.py asks for: one command and the tree to run it in. Sent as JSON."""

from __future__ import annotations

from typing import NamedTuple


class Request(NamedTuple):
    """Every host path is real: no symlink in it."""

    parent_pid: int
    tree_path: str
    argv: list[str]
    env: dict[str, str]
    workdir: str
    uid: int
    gid: int
    mounts: list[tuple[str, str, bool]]
    """Host path, path inside, writable."""
    read_only_root: bool
    copy_on_write: bool
    writable_folders: list[str]
    gpus: bool
