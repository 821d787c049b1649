"""A function that fills a folder → the folder: there completely or not at all, whoever else makes it meanwhile."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from rockiln.disk import disk_faults_named


def make_folder_once(folder: Path, fill: Callable[[Path], None]) -> None:
    """Have `folder`, filled under another name first. The first process to finish wins; its work serves the others."""
    if folder.is_dir():
        return
    with disk_faults_named(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder.parent))
        try:
            fill(unfinished)
            unfinished.chmod(0o755)
            _take_name(unfinished, folder)
        finally:
            remove_folder(unfinished)


def _take_name(unfinished: Path, folder: Path) -> None:
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def remove_folder(folder: Path) -> None:
    """Remove a tree, folders that are read-only included. No error where it is not there."""
    for current, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(current, name)  # noqa: PTH118 - thousands of folders
            if not os.path.islink(path):  # noqa: PTH114
                os.chmod(path, 0o700)  # noqa: PTH101
    shutil.rmtree(folder, ignore_errors=True)
