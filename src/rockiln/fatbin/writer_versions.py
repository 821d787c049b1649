"""Libraries that write compressed bundles and databases anew → their versions: a cut depends on them."""

from __future__ import annotations

import sqlite3
import zlib
from importlib.metadata import version


def list_writer_versions() -> tuple[str, ...]:
    """zstandard, zlib, SQLite. Its module is not loaded for zstandard's: a build that finds all made needs none."""
    return version("zstandard"), zlib.ZLIB_RUNTIME_VERSION, sqlite3.sqlite_version
