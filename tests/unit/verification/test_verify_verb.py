"""`rockiln verify`, `licences` and `generate-key` on the command line: results, exit codes, what is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from registry_server import RegistryServer
from rockiln.cli import main
from rockiln.sign.keys import read_private_key, read_public_key
from signed_image import KEY, SignedImage, make_signed, write_image


@pytest.fixture
def signed(tmp_path: Path) -> SignedImage:
    (tmp_path / "cosign.pub").write_text(KEY.public.to_pem())
    return make_signed(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["--quiet", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_layout_verifies_with_what_lies_beside_it(signed: SignedImage, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("verify", signed.path / "image", "--key", signed.path / "cosign.pub")
    code, text, _ = run(capsys, *words)
    assert code == 0
    assert "signature            by " in text
    code, text, _ = run(capsys, *words, "--json")
    assert json.loads(text)[0]["digest"] == signed.image.digest


def test_key_of_the_working_folder_is_the_default(
    signed: SignedImage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(signed.path)
    assert run(capsys, "verify", "image/")[0] == 0
    (signed.path / "cosign.pub").unlink()
    code, _, said = run(capsys, "verify", "image/")
    assert (code, "no key is given" in said) == (2, True)


def test_unsigned_image_ends_with_its_own_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cosign.pub").write_text(KEY.public.to_pem())
    write_image(tmp_path / "image")
    code, _, said = run(capsys, "verify", tmp_path / "image", "--key", tmp_path / "cosign.pub")
    assert (code, "nothing is attached to the image" in said) == (24, True)


def test_what_is_not_there_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cosign.pub").write_text(KEY.public.to_pem())
    words = ("verify", tmp_path / "none", "--key", tmp_path / "cosign.pub")
    assert run(capsys, *words)[0] == 2
    assert run(capsys, "verify", tmp_path, "--key", tmp_path / "gone.pub")[0] == 2


def test_licences_of_a_layout_are_listed_and_unknown_ones_are_a_fault(
    signed: SignedImage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text, _ = run(capsys, "licences", signed.path / "image")
    assert code == 0
    assert "wheel:my-wheel  2.0      allowed     MIT" in text
    odd = ("opt/venv/lib/python3.11/site-packages/odd-1.dist-info/METADATA", 0o644, b"Name: odd\nVersion: 1\n\n")
    write_image(tmp_path / "odd", odd)
    code, _, said = run(capsys, "licences", tmp_path / "odd")
    assert (code, "wheel:odd 1: undecided: nothing tells its licence" in said) == (25, True)


def test_key_pair_is_written_and_never_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSIGN_PASSWORD", "secret")
    assert run(capsys, "generate-key", "--output", tmp_path / "ci")[0] == 0
    private_path, public_path = tmp_path / "ci.key", tmp_path / "ci.pub"
    assert private_path.stat().st_mode & 0o777 == 0o600
    private = read_private_key(private_path.read_text(), b"secret", "ci.key")
    assert read_public_key(public_path.read_text(), "ci.pub") == private.public
    before = private_path.read_bytes()
    code, _, said = run(capsys, "generate-key", "--output", tmp_path / "ci")
    assert (code, "is there already" in said, private_path.read_bytes() == before) == (2, True, True)


@pytest.mark.parametrize("verb", ["verify", "pull"])
def test_attached_is_not_ignored_for_an_image_in_a_registry(
    signed: SignedImage, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    words = ("--attached", signed.path / "attached", "--key", signed.path / "cosign.pub")
    code, _, said = run(capsys, verb, "127.0.0.1:1/you/jax:tag", *words)
    assert code == 2
    assert f"--attached {signed.path / 'attached'}: 127.0.0.1:1/you/jax:tag is in a registry" in said


def test_file_that_is_no_archive_is_told_in_one_line(
    signed: SignedImage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("# no image\n")
    code, _, said = run(capsys, "verify", tmp_path / "README.md", "--key", signed.path / "cosign.pub")
    assert (code, "method gz" in said) == (24, False)
    assert "README.md: cannot be read as an archive: it is none, or damaged" in said


@pytest.mark.parametrize("word", ["folder", "folder/", "new/"])
def test_folder_is_no_prefix_of_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(SystemExit) as ended:
        run(capsys, "generate-key", "--output", f"{tmp_path}/{word}")
    assert ended.value.code == 2
    assert "is a folder: PREFIX is the first part of two files" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.key"))


def test_name_without_a_tag_is_told_what_it_lacks(signed: SignedImage, capsys: pytest.CaptureFixture[str]) -> None:
    with RegistryServer(has_referrers=True) as server:
        code, _, said = run(capsys, "verify", f"{server.host}/you/jax", "--key", signed.path / "cosign.pub")
    assert (code, "no tag is named, and there is no latest" in said) == (19, True)
