"""why, report and diff of a target that is built, by the command line, in a project with the real matrix."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from built_folder import LIBRARY, small_tree, write_audit, write_built, write_smoke
from rockiln.built_values import BUILT, make_note, read_value
from rockiln.cli import main
from rockiln.contents import Contents
from rockiln.errors import UsageError
from rockiln.manifest import Entry
from rockiln.sealed import write_sealed

ROOT = Path(__file__).parents[2]
JAX, TENSORFLOW = "jax-0.6.2-cpu-py3.11-debian-12", "tensorflow-2.19.1-cpu-py3.11-debian-12"
KERNEL = f"{LIBRARY}/Kernels.so-000-gfx942.hsaco"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """JAX is built, with links of links; TensorFlow is not."""
    shutil.copy(ROOT / "matrix.toml", tmp_path)
    shutil.copytree(ROOT / "images", tmp_path / "images")
    contents = Contents(tmp_path / "contents")
    links = {
        "opt/rocm-latest": "/etc/alternatives/rocm",
        "etc/alternatives/rocm": "/opt/rocm",
        "srv/again": "../opt/rocm-latest",
        "srv/circle": "other",
        "srv/other": "circle",
    }
    tree = small_tree(contents)
    entries = {path: Entry(path, "symlink", 0o777, 0, 0, 0, "", link, "deb:tool") for path, link in links.items()}
    made = ("etc/alternatives", "srv")
    folders = {path: Entry(path, "directory", 0o755, 0, 0, 0, "", "", "deb:tool") for path in made}
    tree = replace(tree, entries=dict(sorted({**tree.entries, **entries, **folders}.items())))
    write_built(tmp_path / "build" / JAX, JAX, tree, contents)
    write_audit(tmp_path / "build" / JAX, f"/{KERNEL}")
    return tmp_path


def ask(project: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["--project", str(project), *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_why_tells_owner_layer_archs_cut_and_findings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said, _ = ask(project, capsys, "why", JAX, f"/{KERNEL}")
    assert code == 0
    lines = said.splitlines()
    assert lines[:4] == [
        f"/{KERNEL}: file of deb:rocblas 1.0, in layer 'rocm: rocblas 1.0'",
        "  7.0 kB (7000 bytes), kernel data",
        "  code for gfx942 7.0 kB; the rest 0 B",
        "  rocblas: 20.0 kB → 7.0 kB, without gfx90a 13.0 kB",
    ]
    assert lines[4].startswith("  error needed-missing: libnuma.so.1")


@pytest.mark.parametrize(
    "path", ["/opt/rocm-latest/lib/rocblas", "/srv/again/lib/../lib/rocblas", f"/{LIBRARY}/.."]
)
def test_why_follows_links_of_links(project: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    _, said, _ = ask(project, capsys, "why", JAX, f"{path}/library/Kernels.so-000-gfx942.hsaco")
    assert said.startswith(f"/{KERNEL}: file of")


def test_why_names_the_rule_that_stripped_a_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said, _ = ask(project, capsys, "why", JAX, "/usr/bin/tool")
    assert said.splitlines()[2] == "  stripped by rule 'symbols': 9.0 kB → 4.0 kB, without symbol and debug tables"


def test_why_of_a_circle_of_links_ends(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = ask(project, capsys, "why", JAX, "/srv/circle/x")
    assert code == 2
    assert "holds no" in said


def test_why_sums_a_folder(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said, _ = ask(project, capsys, "why", JAX, "/opt/venv")
    assert said.splitlines()[1] == "  12.0 kB in 2 files below"


def test_why_names_the_rule_that_dropped_a_path(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said, _ = ask(project, capsys, "why", JAX, "/usr/share/man/man3/tool.3")
    assert said == "/usr/share/man/man3/tool.3: dropped by rule 'docs' (300 B of deb:tool)\n"


def test_why_as_json_is_a_record(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said, _ = ask(project, capsys, "why", JAX, f"/{KERNEL}", "--json")
    value = json.loads(said)
    assert (value["owner"], value["version"], value["archs"]) == ("deb:rocblas", "1.0", {"gfx942": 7000})
    assert value["code"]["outcome"] == "slimmed"


DAMAGES = {
    "object": lambda _: b'{"a":1}', "list": lambda _: b"[1]", "empty": lambda _: b"", "null": lambda _: b"null",
    "cut": lambda data: data[: len(data) // 2], "one byte": lambda data: data[:-2] + b" " + data[-1:],
    "no text": lambda _: b"\xff\xfe",
}  # fmt: skip
STAGES = ("sizes", "slimmed", "audit", "layers", "rootfs", "dropped", "smoke", "plan")
READ_BY_WHY = {"sizes", "slimmed", "audit", "layers", "rootfs"}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_value_is_no_value(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "sizes.json"
    path.write_bytes(b'{"unpacked_bytes": 12}\n')
    write_sealed(tmp_path / BUILT, make_note(tmp_path, ("sizes.json",)))
    assert read_value(tmp_path, "sizes") == {"unpacked_bytes": 12}
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UsageError, match=re.escape(str(path))):
        read_value(tmp_path, "sizes")


@pytest.mark.parametrize("stage", STAGES)
def test_damaged_value_is_named_by_whoever_reads_it(
    project: Path, capsys: pytest.CaptureFixture[str], stage: str
) -> None:
    write_smoke(project / "build" / JAX)
    path = project / "build" / JAX / f"{stage}.json"
    path.write_bytes(b'{"a":1}')
    commands = [("show", JAX, stage)]
    commands += [("report", JAX)] if stage != "layers" else []  # sizes hold all that the page says of layers
    commands += [("why", JAX, f"/{KERNEL}")] if stage in READ_BY_WHY else []
    commands += [("why", JAX, "/usr/share/man/man3/tool.3")] if stage == "dropped" else []
    commands += [("diff", JAX, JAX)] if stage in {"sizes", "rootfs"} else []
    for words in commands:
        code, said, fault = ask(project, capsys, *words)
        assert (words, code, said) == (words, 2, "")
        assert str(path) in fault
        assert f"hint: rockiln {'smoke' if stage == 'smoke' else 'build'} {JAX} writes it anew" in fault
        assert len(fault.splitlines()) == 2
    assert not (project / "build" / JAX / "report.html").exists()


@pytest.mark.parametrize("note", [b"", b"{}", b"damaged"])
def test_values_of_an_unfinished_build_are_not_read(
    project: Path, capsys: pytest.CaptureFixture[str], note: bytes
) -> None:
    write_sealed(project / "build" / JAX / BUILT, note)
    if note == b"damaged":
        (project / "build" / JAX / BUILT).write_bytes(note)
    code, _, fault = ask(project, capsys, "show", JAX, "sizes")
    assert code == 2
    assert "unfinished build" in fault


def test_values_are_shown_as_they_were_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_smoke(project / "build" / JAX)
    for stage in STAGES:
        code, said, _ = ask(project, capsys, "show", JAX, stage)
        assert (code, said) == (0, (project / "build" / JAX / f"{stage}.json").read_text())


@pytest.mark.parametrize("words", [(), ("--all",), (JAX,)])
def test_report_of_all_takes_what_is_built(
    project: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, said, warned = ask(project, capsys, "report", *words)
    assert (code, warned) == (0, "")
    path = project / "build" / JAX / "report.html"
    assert said.startswith(str(path))
    assert path.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--all", JAX), "name targets, or say --all"),
        ((TENSORFLOW,), f"rockiln build {TENSORFLOW}"),
        ((JAX, TENSORFLOW), f"rockiln build {TENSORFLOW}"),
        (("jax-*", TENSORFLOW), f"rockiln build {TENSORFLOW}"),
        (("tensorflow-*-cpu-*",), f"rockiln build {TENSORFLOW}"),
        ((JAX, "--output", "/nowhere/at/all.html"), "--output: /nowhere/at is no folder"),
        ((JAX, "--output", "/usr"), "--output: /usr is a folder"),
        ((JAX, "--output", "."), "--output: . is a folder"),
    ],
)
def test_report_that_cannot_be_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], hint: str
) -> None:
    code, _, said = ask(project, capsys, "report", *words)
    assert code == 2
    assert hint in said


def test_report_of_a_glob_takes_what_is_built_and_names_the_rest(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said, warned = ask(project, capsys, "report", "jax-*")
    assert code == 0
    assert said.startswith(str(project / "build" / JAX / "report.html"))
    assert warned.startswith("rockiln: warning: not built, so not in the page: jax-")
    assert JAX not in warned
    assert "jax-0.6.0-rocm7.0.2-" in warned


def test_report_and_its_help_agree_on_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "default: every target of the matrix that is built" in said


def test_report_where_nothing_is_built_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(project / "build")
    for words, fault in (((), "no target is built yet"), (("jax-*-cpu-*",), "none of the 1 targets")):
        code, _, said = ask(project, capsys, "report", *words)
        assert code == 2
        assert fault in said


@pytest.mark.parametrize("path", ["/", "", "/.", "//", "/opt/.."])
def test_why_of_the_root_is_the_sum_of_all(project: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    code, said, _ = ask(project, capsys, "why", JAX, path)
    assert code == 0
    assert said == "/: the whole image\n  29.5 kB in 7 files below\n"


def test_why_of_a_name_with_a_line_end_is_one_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = ask(project, capsys, "why", JAX, "/usr/bin/to\nol\x1b[2J")
    assert code == 2
    assert "holds no /usr/bin/to\\nol\\u001b[2J, and no rule dropped it" in said


def test_diff_of_a_target_with_itself_finds_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said, _ = ask(project, capsys, "diff", JAX, JAX)
    assert code == 0
    assert said.splitlines()[3] == "layers: 4 shared, 14.8 kB; 0 to pull"
    assert len(said.splitlines()) == 4


def test_diff_with_a_target_that_is_not_built_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = ask(project, capsys, "diff", JAX, TENSORFLOW)
    assert code == 2
    assert f"rockiln build {TENSORFLOW}" in said
