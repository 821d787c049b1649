"""A function that fills a folder → the folder: there completely or not at all, whoever else makes it meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rockiln.disk import disk_faults_named
from rockiln.scratch import Scratch

UNFINISHED = ".unfinished"


def make_folder_once(folder: Path, fill: Callable[[Path], None]) -> None:
    """Have `folder`, filled under another name first. The first process to finish wins; its work serves the others."""
    if folder.is_dir():
        return
    with disk_faults_named(folder), Scratch(folder.parent / UNFINISHED) as scratch_path:
        unfinished = scratch_path / folder.name
        unfinished.mkdir(mode=0o700)
        fill(unfinished)
        unfinished.chmod(0o755)
        _take_name(unfinished, folder)


def _take_name(unfinished: Path, folder: Path) -> None:
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
