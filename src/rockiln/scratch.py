"""A folder → Scratch: a place in it for what a process has not finished, gone when the process ends, however it ends.

A process that is killed cannot clean up, but the kernel lets go of its lock. Whoever makes the next scratch folder
beside it, or asks for it by `remove_abandoned`, sees that and removes what was left.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import weakref
from contextlib import suppress
from pathlib import Path

from rockiln.disk import disk_faults_named

PARTIAL = "partial"
"""What a part of the cache calls the folder of its scratch folders."""


class Scratch:
    """A new folder at `path`, below `parent`: on the disk where the finished files go, so that a rename finishes them.

    It goes with `remove`, at the end of a `with` block, or with the object.
    """

    def __init__(self, parent: Path) -> None:
        with disk_faults_named(parent):
            parent.mkdir(parents=True, exist_ok=True)
            remove_abandoned(parent)
            lock_path, descriptor = _make_lock(parent)
            self.path = lock_path.with_suffix("")
            self.remove = weakref.finalize(self, _remove, lock_path, descriptor)
            self.path.mkdir()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def remove_abandoned(parent: Path) -> None:
    """Take away what processes left below `parent` that did not live to do it."""
    for lock_path in parent.glob("*.lock"):
        with suppress(OSError):  # it is in use, or another user's
            descriptor = os.open(lock_path, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BaseException:
                os.close(descriptor)
                raise
            _remove(lock_path, descriptor)


def remove_folder(folder: Path) -> None:
    """Remove a tree, folders that are read-only included. No error where it is not there."""
    for current, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(current, name)  # noqa: PTH118 - thousands of folders
            if not os.path.islink(path):  # noqa: PTH114
                os.chmod(path, 0o700)  # noqa: PTH101
    shutil.rmtree(folder, ignore_errors=True)


def _make_lock(parent: Path) -> tuple[Path, int]:
    """A new file, locked. Between the two steps it looks abandoned: if it was taken away for that, there is another."""
    while True:
        lock_path = parent / f"{secrets.token_hex(8)}.lock"
        descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return lock_path, descriptor
        os.close(descriptor)


def _remove(lock_path: Path, descriptor: int) -> None:
    """The lock goes last: who dies in between leaves something that says so."""
    remove_folder(lock_path.with_suffix(""))
    with suppress(OSError):
        lock_path.unlink()
    os.close(descriptor)
