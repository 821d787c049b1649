"""Key files: where the password comes from, and what is written where."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

import pytest

from rockiln.cli import main
from rockiln.errors import UsageError
from rockiln.sign.key_files import PASSWORD, load_private_key, write_key_pair


def test_password_that_is_not_set_is_not_called_wrong(tmp_path: Path) -> None:
    private, _, public = write_key_pair(tmp_path / "cosign", {PASSWORD: "secret"})
    with pytest.raises(UsageError, match=r"is encrypted, and COSIGN_PASSWORD is not set"):
        load_private_key(private, {})
    with pytest.raises(UsageError, match="wrong password"):
        load_private_key(private, {PASSWORD: "other"})
    with pytest.raises(UsageError, match="wrong password"):
        load_private_key(private, {PASSWORD: ""})
    assert load_private_key(private, {PASSWORD: "secret"}).public == public


def test_key_of_no_password_needs_none(tmp_path: Path) -> None:
    private, _, public = write_key_pair(tmp_path / "cosign", {})
    assert load_private_key(private, {}).public == public


def test_terminal_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private, _, public = write_key_pair(tmp_path / "cosign", {PASSWORD: "secret"})
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    asked: list[str] = []

    def answer(prompt: str, _stream: object) -> str:
        asked.append(prompt)
        return "secret"

    monkeypatch.setattr(getpass, "getpass", answer)
    assert load_private_key(private, {}).public == public
    assert asked == [f"password of {private}: "]


def test_no_folder_is_made_for_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quiet", "generate-key", "--output", str(tmp_path / "kyes" / "cosign")]) == 2
    assert f"there is no folder {tmp_path / 'kyes'}" in capsys.readouterr().err
    assert not (tmp_path / "kyes").exists()
