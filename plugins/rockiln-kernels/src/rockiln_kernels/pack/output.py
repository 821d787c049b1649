"""A folder that a command fills → the same folder, filled as a whole; what was not made here is never replaced."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FindForeign = Callable[[Path], str]
"""A folder that is not empty → what in it was not made by the command that wants to fill it; "" where nothing."""


class OutputError(Exception):
    """A place where something stands that nobody may replace."""


def check_output(folder: Path, find_foreign: FindForeign) -> None:
    """Raise OutputError unless `folder` is absent, an empty folder, or one that `find_foreign` has nothing against."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} is no folder, and is not replaced: name another place, or remove it")
    if any(folder.iterdir()) and (foreign := find_foreign(folder)):
        raise OutputError(f"{folder} is not replaced: {foreign}; name another place, or remove it")


def check_apart(folders: dict[str, Path]) -> None:
    """Raise OutputError where one of the folders, by the flag that names it, is or lies in another."""
    for flag, folder in folders.items():
        for other_flag, other in folders.items():
            if flag != other_flag and folder.resolve().is_relative_to(other.resolve()):
                raise OutputError(f"{flag} {folder} lies in {other_flag} {other}: name folders that lie apart")


@contextmanager
def fill_folder(folder: Path, find_foreign: FindForeign) -> Iterator[Path]:
    """A new folder, which takes the place of `folder` if the block ends well; `folder` is left alone otherwise.

    Raises OutputError as `check_output` does, before the block and after it. Links are followed.
    """
    place = folder.resolve()
    check_output(place, find_foreign)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as temporary:
        new, old = Path(temporary) / "new", Path(temporary) / "old"
        new.mkdir()
        yield new
        check_output(place, find_foreign)  # filling takes its time
        if place.exists():
            place.replace(old)
        try:
            new.replace(place)
        except OSError:
            if old.exists():
                old.replace(place)
            raise
