"""Rows of RECORD: no length and no character of a name is too much."""

from __future__ import annotations

import pytest

from rockiln.audit.installed.distributions import _read_rows
from rockiln.record_rows import read_rows
from rockiln.sizes.installed_owners import find_owners


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


LONG = "d/" * 70_000 + "x.py"
RECORD = "opt/venv/lib/python3.12/site-packages/a-1.dist-info/RECORD"


def test_owner_of_a_path_of_any_length_is_known() -> None:
    path = f"opt/venv/lib/python3.12/site-packages/{LONG}"
    after = "opt/venv/lib/python3.12/site-packages/after.py"
    owners, _ = find_owners([path, after], {RECORD: f"{LONG},,\nafter.py,,\n".encode()}, {})
    assert owners == {path: "wheel:a", after: "wheel:a"}


def test_audit_reads_rows_of_any_length() -> None:
    rows = list(_read_rows(f"{LONG},,\nafter.py,,\n".encode(), "site"))
    assert [row.path for row in rows] == [f"site/{LONG}", "site/after.py"]
