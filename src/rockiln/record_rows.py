"""Text of a RECORD → its rows, each with its own text, whatever their length and whatever stands in a name."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator

csv.field_size_limit(sys.maxsize)
"""The module's own limit of 131,072 characters ends in an exception; a RECORD is in memory anyway."""


def read_rows(text: str) -> Iterator[tuple[list[str], str]]:
    """(fields, text with its line end) of each row; a quoted name may hold line ends. All texts together are `text`.

    https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
    """
    lines = list(io.StringIO(text, newline=""))
    reader = csv.reader(lines)
    start = 0
    for row in reader:
        yield row, "".join(lines[start : reader.line_num])
        start = reader.line_num
