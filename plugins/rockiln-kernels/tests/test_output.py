"""What the command line writes, and what it leaves alone: nobody's files are deleted, and nothing is half there."""

from __future__ import annotations

from pathlib import Path

import pytest

from rockiln_kernels import cli
from rockiln_kernels.cli import EXIT_USAGE, main
from rockiln_kernels.pack.build import Pack, write_pack
from rockiln_kernels.pack.manifest import FILE_NAME, Manifest
from rockiln_kernels.pack.output import OutputError

MANIFEST = Manifest(
    schema=1, arch="gfx942", wave_lanes=64, triton="3.4.0", lld="22.1.8", kernels={}, variants=(), absent=()
)
BUILD = ["build-pack", "--arch", "gfx942", "--only", "rms_norm/bf16/row1024"]
EMPTY = Pack(manifest=MANIFEST, code={})


@pytest.fixture(autouse=True)
def _build_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal comes before anything is compiled."""
    monkeypatch.setattr(cli, "find_toolchain", lambda: pytest.fail("it went on"))


def _list(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("flag", ["--output", "--project"])
@pytest.mark.parametrize("files", [("notes.txt",), ("manifest.json",), ("pyproject.toml",), ("a/b", ".hidden")])
def test_a_folder_with_a_users_files_is_left_alone(
    flag: str, files: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "place"
    for name in files:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("{}")
    before = _list(tmp_path)
    places = {"--output": tmp_path / "free", flag: place}
    assert main([*BUILD, *(str(word) for pair in places.items() for word in pair)]) == EXIT_USAGE
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"rockiln-kernels: {place} is not replaced: it is no p")
    assert _list(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


@pytest.mark.parametrize("flag", ["--output", "--project"])
def test_a_file_is_not_replaced_by_a_folder(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "file"
    place.write_text("mine")
    places = {"--output": tmp_path / "free", flag: place}
    assert main([*BUILD, *(str(word) for pair in places.items() for word in pair)]) == EXIT_USAGE
    assert "file is no folder, and is not replaced" in capsys.readouterr().err
    assert place.read_text() == "mine"


def test_a_pack_with_one_more_file_is_left_alone(tmp_path: Path) -> None:
    write_pack(EMPTY, tmp_path / "pack")
    (tmp_path / "pack" / "own.hsaco").write_text("mine")
    with pytest.raises(OutputError, match=r"own\.hsaco is no file of the pack that it is"):
        write_pack(EMPTY, tmp_path / "pack")
    assert (tmp_path / "pack" / "own.hsaco").read_text() == "mine"


def test_an_absent_folder_an_empty_one_and_a_pack_are_filled(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "pack"
    write_pack(EMPTY, place)
    write_pack(EMPTY, place)
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    write_pack(EMPTY, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (place / FILE_NAME).read_bytes() == (tmp_path / "empty" / FILE_NAME).read_bytes()


@pytest.mark.parametrize(("output", "project"), [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a/../b", "b/c")])
def test_a_pack_and_its_project_lie_apart(
    output: str, project: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--output", str(tmp_path / output), "--project", str(tmp_path / project)]
    assert main([*BUILD, *places]) == EXIT_USAGE
    assert "name folders that lie apart" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_came_while_it_was_built_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pack").mkdir()

    def dump(_manifest: Manifest) -> str:
        (tmp_path / "pack" / "late").write_text("mine")
        return ""

    monkeypatch.setattr("rockiln_kernels.pack.build.dump_parts", dump)
    with pytest.raises(OutputError, match="it is no pack"):
        write_pack(EMPTY, tmp_path / "pack")
    assert _list(tmp_path) == {"pack/late": "mine"}


@pytest.mark.parametrize("number", ["0", "-3", "x", "1.5", "99999999999999999999999"])
@pytest.mark.parametrize("words", [[*BUILD, "--output", "/nowhere/p", "--jobs"], ["validate", "--elements"]])
def test_a_nonsense_number_is_refused(words: list[str], number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*words[:-1], f"{words[-1]}={number}"])
    assert caught.value.code == EXIT_USAGE
    assert f"argument {words[-1]}: {number!r} is no number from 1 to 2147483647" in capsys.readouterr().err
