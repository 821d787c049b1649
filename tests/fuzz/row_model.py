"""Two databases' bytes + archs → how their rows differ: what a cut of rocFFT's cache is judged by.

Rows are read one by one and compared in Python, where the cut and the verifier leave it to SQL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Set as AbstractSet
from contextlib import closing

from rockiln.fatbin.entry_ids import serves

DAMAGE = (sqlite3.Error, ValueError, OverflowError)
Rows = list[tuple[object, ...]]


def judge_rows(old: bytes, new: bytes, archs: AbstractSet[str]) -> str:
    """What is wrong with `new`; "" where nothing is, or where `old` cannot be read."""
    try:
        names, rows = _read(old)
    except DAMAGE:
        return ""
    place = names.index("arch") if "arch" in names else 0
    kept = [row for row in rows if serves(f"hipv4-amdgcn-amd-amdhsa--{row[place]}", archs)]
    try:
        found = _read(new)
    except DAMAGE as fault:
        return f"the new database cannot be read: {fault}"
    return "" if found == (names, sorted(kept, key=repr)) else "other rows"


def _read(content: bytes) -> tuple[list[str], Rows]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        cursor = connection.execute("SELECT * FROM cache_v1")
        return [one[0] for one in cursor.description], sorted(cursor.fetchall(), key=repr)
