"""What an audit takes: whole layouts and root file systems. Nothing passes because there was nothing to look at."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit_trees import SITE, AuditTree, make_tree
from rockiln.audit.inspect_file import Wanted
from rockiln.audit.scan_image import scan_layout
from rockiln.cli import main
from rockiln.console import Console
from rockiln.errors import ImageError
from tiny_image import make_tar, write_layout


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["--quiet", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def make_layout(folder: Path) -> Path:
    write_layout(folder, [make_tar([("etc/", 0o755, "")])], {})
    return folder


def make_site(folder: Path) -> Path:
    AuditTree(path=folder).install("native", "1.0", {"native/__init__.py": ""}, site=".")
    return folder


def make_environment(folder: Path) -> Path:
    AuditTree(path=folder).write("pyvenv.cfg", "home = /usr/bin\n")
    (folder / "etc").mkdir()
    return folder


def make_empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (make_empty, "no root file system here: no etc, usr"),
        (make_site, "this is a site-packages, or an unpacked wheel"),
        (make_environment, "this is a Python environment"),
    ],
)
def test_folder_that_is_no_root_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], Path], words: str
) -> None:
    code, text, error = run(capsys, "audit", str(make(tmp_path / "given")))
    assert (code, text) == (2, "")
    assert f"{words}\nhint: the audit needs the system around it" in error


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        (("index.json",), "an OCI layout without index.json"),
        (("index.json", "oci-layout"), "an OCI layout without index.json"),
        (("blobs",), "an OCI layout without blobs"),
        (("blobs", "oci-layout"), "an OCI layout without blobs"),
        (("blobs", "index.json"), "an OCI layout without index.json"),
    ],
)
def test_layout_that_is_not_whole_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gone: tuple[str, ...], words: str
) -> None:
    layout = make_layout(tmp_path / "layout")
    for name in gone:
        shutil.rmtree(layout / name) if name == "blobs" else (layout / name).unlink()
    code, text, error = run(capsys, "audit", str(layout))
    assert (code, text) == (12, "")
    assert f"{words}\nhint: was it copied whole?" in error


def test_garbage_for_an_index_without_blobs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "index.json").write_text("garbage")
    assert run(capsys, "audit", str(tmp_path))[0] == 12


def test_root_that_holds_an_index_of_its_own_is_a_root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = make_tree(tmp_path / "root")
    tree.write("index.json", "{}")
    assert run(capsys, "audit", str(tree.path))[0] == 0


def test_image_without_files_is_refused(tmp_path: Path) -> None:
    write_layout(tmp_path / "layout", [], {})
    with pytest.raises(ImageError, match="holds no files"):
        scan_layout(tmp_path / "layout", "tiny", Wanted(), 1, Console(None))


@pytest.mark.parametrize("words", [("audit", "docker:"), ("diff", "docker:", "docker:")])
def test_docker_without_a_name_is_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    code, _, error = run(capsys, *words)
    assert (code, error.splitlines()[0]) == (2, "rockiln: error: docker: names no image")


def test_two_forms_at_once_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = make_tree(tmp_path / "root")
    code, text, error = run(capsys, "audit", str(tree.path), "--format", "sarif", "--json")
    assert (code, text) == (2, "")
    assert "--json and --format sarif" in error


@pytest.fixture
def odd_names(tmp_path: Path) -> AuditTree:
    """Findings at names that are not UTF-8, that hold an escape code, and that hold a line end."""
    tree = make_tree(tmp_path / "root")
    for name in (b"a\xff.pth", b"b\x1b[31m.pth", b"c\n  nothing found.pth"):
        tree.write(f"{SITE}/{os.fsdecode(name)}", "/gone\n")
    return tree


def test_odd_names_do_not_reach_the_terminal(odd_names: AuditTree, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = run(capsys, "audit", str(odd_names.path))
    assert (code, "\x1b" in text) == (0, False)
    for name in (r"a\udcff.pth", r"b\u001b[31m.pth", r"c\n  nothing found.pth"):
        assert f"    /{SITE}/{name}  " in text


def test_odd_names_are_percent_encoded_in_sarif(odd_names: AuditTree, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "audit", str(odd_names.path), "--format", "sarif")[1]
    value: dict[str, Any] = json.loads(text.encode("utf-8"))
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"] for one in value["runs"][0]["results"]]
    names = [place["uri"].rpartition("/")[2] for place in places]
    assert names == ["a%FF.pth", "b%1B%5B31m.pth", "c%0A%20%20nothing%20found.pth"]
    assert "\\udc" not in text


def test_odd_names_are_told_by_json(odd_names: AuditTree, capsys: pytest.CaptureFixture[str]) -> None:
    (report,) = json.loads(run(capsys, "audit", str(odd_names.path), "--json")[1].encode("utf-8"))
    assert os.fsencode(report["findings"][0]["path"]).endswith(b"/a\xff.pth")


def test_odd_names_do_not_reach_the_terminal_from_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_layout(tmp_path / "old")
    name = os.fsdecode(b"etc/\xff\x1b[31m\nx")
    write_layout(tmp_path / "new", [make_tar([("etc/", 0o755, ""), (name, 0o644, b"text")])], {})
    code, text, _ = run(capsys, "diff", str(tmp_path / "old"), str(tmp_path / "new"))
    assert (code, "\x1b" in text) == (0, False)
    assert r"  etc/\udcff\u001b[31m\nx" in text
