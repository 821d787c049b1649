"""Old database of kernels, new one, archs → Verification: the rows of kept archs are there, and no others."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import closing

from rockiln.fatbin.entry_ids import serves
from rockiln.fatbin.verify.verification import Counts, Verification, collect_faults

_OLD_TABLES = "SELECT type, name, sql FROM old.sqlite_master"
_NEW_TABLES = "SELECT type, name, sql FROM new.sqlite_master"
_OLD_ROWS, _NEW_ROWS = "SELECT * FROM old.cache_v1", "SELECT * FROM new.cache_v1"


def verify_database_files(old: int, new: int, archs: AbstractSet[str]) -> Verification:
    """Compare two open files, given as descriptors."""

    def find(counts: Counts) -> Iterator[str]:
        with closing(sqlite3.connect(":memory:", uri=True)) as connection:
            connection.create_function("kept", 1, lambda arch: serves(f"hipv4-amdgcn-amd-amdhsa--{arch}", archs))
            try:
                for name, descriptor in (("old", old), ("new", new)):
                    connection.execute(f"ATTACH ? AS {name}", (f"file:/proc/self/fd/{descriptor}?immutable=1&mode=ro",))
                yield from _find_faults(connection, counts)
            except (sqlite3.Error, MemoryError) as fault:  # the last for words that are no text
                yield f"the database cannot be read: {str(fault) or type(fault).__name__}"

    return collect_faults(find)


def _find_faults(connection: sqlite3.Connection, counts: Counts) -> Iterator[str]:
    def count(query: str) -> int:
        return int(connection.execute(f"SELECT COUNT(*) FROM ({query})").fetchone()[0])  # noqa: S608 - our own queries

    if connection.execute("PRAGMA new.integrity_check").fetchall() != [("ok",)]:
        yield "the new database is damaged"
        return
    before, after = (sorted(map(str, connection.execute(query))) for query in (_OLD_TABLES, _NEW_TABLES))
    if before != after:
        yield "the tables are others"
        return
    wanted = f"{_OLD_ROWS} WHERE kept(arch)"
    counts.kept_objects = count(wanted)
    counts.dropped_objects = count(_OLD_ROWS) - counts.kept_objects
    differing = count(f"{wanted} EXCEPT {_NEW_ROWS}") + count(f"{_NEW_ROWS} EXCEPT {wanted}")
    if differing or count(_NEW_ROWS) != counts.kept_objects:
        yield "the rows of kept archs are others"
