"""A folder → a copy with the same names, links, modes and owners; the caller places each regular file."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rockiln.disk import disk_faults_named
from rockiln.fatbin.write_cut import partial_path
from rockiln.scratch import remove_folder

PlaceFile = Callable[[Path, Path], None]
"""(source, destination): make the destination."""


COPY_HINT = "make room there and let this user write there, or name another place: --output PATH"


def copy_file(source: Path, destination: Path) -> None:
    """One regular file, with all that belongs to it."""
    shutil.copyfile(source, destination)
    _copy_facts(source, destination)


@contextmanager
def copied_folder(source: Path, destination: Path, place_file: PlaceFile) -> Iterator[Path]:
    """Copy `source` to a partial name, where the block may work on it; then it becomes `destination`."""
    partial = partial_path(destination)
    with disk_faults_named(destination, hint=COPY_HINT):
        remove_folder(partial)
        try:
            _copy_folders(source, partial, place_file)
            yield partial
            partial.rename(destination)
        except BaseException:
            remove_folder(partial)
            raise


def _copy_folders(source: Path, destination: Path, place_file: PlaceFile) -> None:
    folders: list[tuple[Path, Path]] = []
    for current, names, files in os.walk(source):
        there = destination / Path(current).relative_to(source)
        there.mkdir(mode=0o700)
        folders.append((Path(current), there))
        links = [name for name in names if Path(current, name).is_symlink()]
        for name in sorted((*files, *links)):
            _copy_leaf(Path(current, name), there / name, place_file)
    for here, there in reversed(folders):
        _copy_facts(here, there)


def _copy_leaf(source: Path, destination: Path, place_file: PlaceFile) -> None:
    facts = source.lstat()
    if stat.S_ISREG(facts.st_mode):
        place_file(source, destination)
        return
    if stat.S_ISLNK(facts.st_mode):
        destination.symlink_to(source.readlink())
    else:
        os.mknod(destination, facts.st_mode, facts.st_rdev)
    _copy_facts(source, destination)


def _copy_facts(source: Path, destination: Path) -> None:
    facts = source.lstat()
    with suppress(PermissionError):  # not ours to give away: who copies owns the copy
        os.chown(destination, facts.st_uid, facts.st_gid, follow_symlinks=False)
    shutil.copystat(source, destination, follow_symlinks=False)
