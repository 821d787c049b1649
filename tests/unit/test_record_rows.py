"""Rows of RECORD: no length and no character of a name is too much."""

from __future__ import annotations

import pytest

from rockiln.record_rows import read_rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a.so,sha256=x,1\r\nb.so,,\n", [["a.so", "sha256=x", "1"], ["b.so", "", ""]]),
        ('"a\nb.so",sha256=x,1\nc.so,,', [["a\nb.so", "sha256=x", "1"], ["c.so", "", ""]]),
        ("a\u2028\x85b.so,,\n\n", [["a\u2028\x85b.so", "", ""], []]),
        (f"{'a' * 200_000},,\nb.so,,\n", [["a" * 200_000, "", ""], ["b.so", "", ""]]),
        ("", []),
    ],
    ids=["line ends", "name of two lines", "other line ends in a name", "long name", "empty"],
)
def test_rows_are_read_and_their_text_is_kept(text: str, rows: list[list[str]]) -> None:
    read = list(read_rows(text))
    assert [row for row, _ in read] == rows
    assert "".join(line for _, line in read) == text
