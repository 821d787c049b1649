"""Entries + Contents → the bytes of a tar archive, one after another: the same bytes on every machine.

Members are sorted by path, so that folders come before what they hold; hardlinks follow, so that their targets are
there. Headers are ustar, with a pax header before those that do not fit; no user names, one time for everything.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterable, Iterator

from rockiln.contents import Contents
from rockiln.errors import IntegrityError
from rockiln.manifest import Entry

EPOCH_S = 315532800
"""1980-01-01T00:00:00Z, the earliest time that a zip file can say: Python packs its own modules into zips."""

CHUNK_BYTES = 1 << 20
END = bytes(2 * tarfile.BLOCKSIZE)
TYPES = {
    "file": tarfile.REGTYPE,
    "directory": tarfile.DIRTYPE,
    "symlink": tarfile.SYMTYPE,
    "hardlink": tarfile.LNKTYPE,
}


def stream_tar(entries: Iterable[Entry], contents: Contents) -> Iterator[bytes]:
    """The archive, in pieces of at most CHUNK_BYTES. IntegrityError for a content that is not what its name says."""
    for entry in sort_members(entries):
        yield make_header(entry)
        if entry.kind == "file":
            yield from read_content(entry, contents)
            if rest := entry.size_bytes % tarfile.BLOCKSIZE:
                yield bytes(tarfile.BLOCKSIZE - rest)
    yield END


def sort_members(entries: Iterable[Entry]) -> list[Entry]:
    """In the order in which they stand in the archive."""
    return sorted(entries, key=lambda entry: (entry.kind == "hardlink", entry.path))


def make_header(entry: Entry) -> bytes:
    """The header blocks of one member."""
    member = tarfile.TarInfo(entry.path)
    member.type = TYPES[entry.kind]
    member.mode, member.uid, member.gid = entry.mode, entry.uid, entry.gid
    member.mtime, member.size, member.linkname = EPOCH_S, entry.size_bytes, entry.link
    try:
        return member.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")
    except ValueError:  # too long or not ASCII, or a number too large
        return member.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def read_content(entry: Entry, contents: Contents) -> Iterator[bytes]:
    """The bytes of a file, hashed while they are read."""
    digest, size_bytes = hashlib.sha256(), 0
    with contents.open(entry.sha256) as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            size_bytes += len(chunk)
            if size_bytes > entry.size_bytes:
                break
            yield chunk
    if size_bytes != entry.size_bytes or digest.hexdigest() != entry.sha256:
        raise IntegrityError(
            f"{entry.path}: content {entry.sha256} in {contents.path} is damaged",
            hint="run the command again: what is damaged is unpacked anew",
            sha256=entry.sha256,
        )
