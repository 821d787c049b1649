"""--key of the verbs that sign and check results: read as every other key is."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from matrix_text import CPU_ID
from publish.project import Project

from rockiln.errors import UsageError
from rockiln.sign.key_files import write_key_pair
from rockiln.verbs.registry_options import read_index_signer, read_opener, read_seal

READERS = (read_seal, read_index_signer, read_opener)
Reader = Callable[[Namespace, Mapping[str, str]], object]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_password_that_is_not_set_is_said(read: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    private_path, _, _ = write_key_pair(tmp_path / "k", {"COSIGN_PASSWORD": "right"})
    asked = Namespace(key=private_path, unsigned=False)
    with pytest.raises(UsageError, match="is encrypted, and COSIGN_PASSWORD is not set"):
        read(asked, {})
    assert read(asked, {"COSIGN_PASSWORD": "right"}) is not None


def test_public_key_checks_and_signs_no_index(tmp_path: Path) -> None:
    _, public_path, _ = write_key_pair(tmp_path / "k", {"COSIGN_PASSWORD": "right"})
    asked = Namespace(key=public_path, unsigned=False)
    assert read_index_signer(asked, {}) is None
    assert read_opener(asked, {}) is not None


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_key_file_that_is_not_there_is_named(read: Reader, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.key: No such file"):
        read(Namespace(key=tmp_path / "gone.key", unsigned=False), {})


def test_key_and_unsigned_together_are_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--key signs the result, and --unsigned says that nobody does"):
        read_seal(Namespace(key=tmp_path / "k", unsigned=True), {})


def test_empty_destination_is_no_destination_left_out(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("push", "publish"):
        with pytest.raises(SystemExit):
            project.run(verb, CPU_ID, "--to", "")
        assert "argument --to: it is empty" in capsys.readouterr().err
