"""A file that is about to be replaced → a note beside it, so that the next run heals the lists if this one is killed.

`.NAME.rockiln-note` holds size and hashes of the new file. It is written before the file is replaced and goes when the
lists of installers are true. A note counts only where the file is, byte for byte, what the note says.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rockiln.fatbin.ledgers import Sums, hash_descriptor

_PREFIX, _SUFFIX = ".", ".rockiln-note"
_MOST_BYTES = 200
"""Two hashes and a size are shorter."""


def note_path(path: Path) -> Path:
    """Where the note about `path` is."""
    return path.with_name(f"{_PREFIX}{path.name}{_SUFFIX}")


def is_note(name: str) -> bool:
    """Is it a note that a killed process left?"""
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX) and len(name) > len(_PREFIX + _SUFFIX)


def write_note(path: Path, sums: Sums) -> None:
    """Say what `path` will be, and have it on disk."""
    with note_path(path).open("w", encoding="ascii") as file:
        file.write(f"{sums.size_bytes} {sums.sha256.hex()} {sums.md5.hex()}\n")
        file.flush()
        os.fsync(file.fileno())


def read_notes(notes: Iterable[Path]) -> dict[str, Sums]:
    """Path → what it is, for each file that is what its note says."""
    found = {}
    for note in notes:
        path = note.with_name(note.name[len(_PREFIX) : -len(_SUFFIX)])
        with suppress(OSError, ValueError), path.open("rb") as file:
            size, *hashes = note.read_bytes()[:_MOST_BYTES].decode("ascii").split()
            is_of_size = not path.is_symlink() and os.fstat(file.fileno()).st_size == int(size)
            sums = hash_descriptor(file.fileno()) if is_of_size else None
            if sums and [sums.sha256.hex(), sums.md5.hex()] == hashes:
                found[str(path)] = sums
    return found


def remove_notes(notes: Iterable[Path]) -> None:
    """Their lists are true."""
    for note in notes:
        note.unlink(missing_ok=True)
