"""Sealed files: what comes back is what was written, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from rockiln.sealed import read_sealed, write_sealed

BODY = b'{"digest": "sha256:0123",\n "size": 7}\n'


@pytest.mark.parametrize("body", [BODY, b"", b"\n\n", bytes(range(256))])
def test_body_comes_back(tmp_path: Path, body: bytes) -> None:
    write_sealed(tmp_path / "file", body)
    assert read_sealed(tmp_path / "file") == body


def test_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_sealed(tmp_path / "file") is None


def test_file_with_any_byte_changed_is_none(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_sealed(path, BODY)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert read_sealed(path) is None


def test_file_cut_anywhere_is_none(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_sealed(path, BODY)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert read_sealed(path) is None
