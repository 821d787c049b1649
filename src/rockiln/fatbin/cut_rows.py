"""An open SQLite cache of kernels + the archs to keep → Cut: the same database without the rows of other archs.

rocFFT's rocfft_kernel_cache.db is such a one: a single table with a column `arch`
(rocFFT, library/src/rtc_cache.cpp). A database with anything else in it is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from rockiln.fatbin.bundle import Bundle, Entry
from rockiln.fatbin.byte_source import CHUNK_BYTES, ByteSource
from rockiln.fatbin.cut import Cut
from rockiln.fatbin.entry_ids import serves
from rockiln.fatbin.refusal import RefusedError, require
from rockiln.fatbin.repack import NewBundle, Span

MAGIC = b"SQLite format 3\0"
TABLE = "cache_v1"
ID = "hipv4-amdgcn-amd-amdhsa--"
"""In front of a row's arch, so that it reads like the id of a bundle's entry."""

DATABASE_FAULTS = (sqlite3.Error, ValueError, OverflowError, MemoryError)
"""What sqlite3 raises for damaged files: names and numbers that are none bring the next two, and a fault whose words
are no text the last."""

_COUNTER, _VALID_FOR, _LIBRARY = slice(24, 28), slice(92, 96), slice(96, 100)
"""Fields of the header that tell how often a file was written, and by which SQLite: they decide nothing.
https://www.sqlite.org/fileformat.html#the_database_header"""


def plan_rows_cut(source: ByteSource, archs: AbstractSet[str], spool: BinaryIO) -> Cut:
    """What to write. Raises RefusedError for a database that is not understood."""
    try:
        with open_database(source.descriptor) as old:
            sizes = _measure_archs(old)
            kept = [arch for arch in sizes if serves(ID + arch, archs)]
            require(kept, "holds no code for any of the archs")
            new = _describe(source, sizes, kept)
            if len(kept) == len(sizes):
                return Cut(bundles=(new,), before_bytes=source.size_bytes, after_bytes=source.size_bytes)
            after_bytes = _write_rows(old, source, kept, spool)
    except DATABASE_FAULTS as fault:
        raise RefusedError(f"a database that cannot be read: {str(fault) or type(fault).__name__}") from None
    if after_bytes >= source.size_bytes:
        return Cut(bundles=(new,), before_bytes=source.size_bytes, after_bytes=source.size_bytes)
    piece = Span(source=ByteSource(spool.fileno(), after_bytes), start=0, size_bytes=after_bytes)
    return Cut(bundles=(new,), before_bytes=source.size_bytes, after_bytes=after_bytes, pieces=(piece,))


@contextmanager
def open_database(descriptor: int) -> Iterator[sqlite3.Connection]:
    """Read an open file as it is: no lock, no journal, nothing written beside it."""
    uri = f"file:/proc/self/fd/{descriptor}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        yield connection


def _measure_archs(old: sqlite3.Connection) -> dict[str, int]:
    """Arch → bytes of code."""
    found = {(kind, name) for kind, name in old.execute("SELECT type, name FROM sqlite_master") if kind != "index"}
    require(found == {("table", TABLE)}, f"a database of other tables than {TABLE}")
    columns = {row[1] for row in old.execute(f"PRAGMA table_info({TABLE})")}
    require(columns >= {"arch", "code"}, f"a table {TABLE} without the columns arch and code")
    rows = old.execute(f"SELECT arch, SUM(LENGTH(code)) FROM {TABLE} GROUP BY arch ORDER BY arch")  # noqa: S608 - our own name
    return {str(arch): int(size_bytes or 0) for arch, size_bytes in rows}


def _describe(source: ByteSource, sizes: dict[str, int], kept: list[str]) -> NewBundle:
    entries = tuple(Entry(id=ID + arch, offset=0, size_bytes=size) for arch, size in sizes.items())
    bundle = Bundle(start=0, size_bytes=source.size_bytes, entries=entries)
    parts = [tuple(one for one in entries if (one.id.removeprefix(ID) in kept) == wanted) for wanted in (True, False)]
    return NewBundle(old=bundle, pieces=(), kept=parts[0], dropped=parts[1])


def _write_rows(old: sqlite3.Connection, source: ByteSource, kept: list[str], spool: BinaryIO) -> int:
    """The new database at the start of `spool`; its size."""
    with TemporaryDirectory(prefix="rockiln-") as folder:
        path = Path(folder) / "rows.db"
        with closing(sqlite3.connect(path.as_uri(), uri=True, isolation_level=None)) as new:
            _copy_rows(old, new, source.descriptor, kept)
        with path.open("rb") as file:
            head = bytearray(file.read(100))
            head[_LIBRARY] = source.read(0, 100)[_LIBRARY]
            head[_COUNTER] = head[_VALID_FOR] = (1).to_bytes(4, "big")
            spool.write(head)
            while piece := file.read(CHUNK_BYTES):
                spool.write(piece)
        spool.flush()
        return spool.tell()


def _copy_rows(old: sqlite3.Connection, new: sqlite3.Connection, descriptor: int, kept: list[str]) -> None:
    new.execute("PRAGMA journal_mode = OFF")
    for pragma in ("page_size", "user_version", "application_id"):
        new.execute(f"PRAGMA {pragma} = {old.execute(f'PRAGMA {pragma}').fetchone()[0]}")
    new.execute("ATTACH ? AS old", (f"file:/proc/self/fd/{descriptor}?mode=ro&immutable=1",))
    new.execute("BEGIN")
    for (statement,) in old.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name"):
        new.execute(statement)
    places = ", ".join("?" for _ in kept)
    new.execute(f"INSERT INTO main.{TABLE} SELECT * FROM old.{TABLE} WHERE arch IN ({places}) ORDER BY rowid", kept)  # noqa: S608 - our own name
    new.execute("COMMIT")
