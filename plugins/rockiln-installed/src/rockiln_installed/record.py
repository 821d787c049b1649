"""Names and RECORDs of distributions → names as indexes compare them, and the files that one claims."""

from __future__ import annotations

import csv
import io
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator


def normalize_name(name: str) -> str:
    """https://packaging.python.org/en/latest/specifications/name-normalization/"""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_record(text: str, site: str) -> Iterator[tuple[str, str]]:
    """(path, hash as it stands there, such as "sha256=…", or "") of each row; relative paths count from `site`.

    https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
    """
    csv.field_size_limit(sys.maxsize)  # the default, 131,072, ends in an exception: a long name is no damage
    for row in csv.reader(io.StringIO(text, newline="")):
        if row and row[0]:
            yield posixpath.normpath(posixpath.join(site, row[0])), row[1] if len(row) > 1 else ""


def find_doubles(installed: Iterable[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(name, versions) of what one site-packages holds in several versions. `installed`: normalized name, version."""
    versions: dict[str, dict[str, None]] = {}
    for name, version in installed:
        versions.setdefault(name, {})[version] = None
    return tuple((name, tuple(found)) for name, found in sorted(versions.items()) if len(found) > 1)
