"""Lists of installers stay true, or become so again: killed runs, lists out of reach, lines of any length."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rockiln.cli import main
from rockiln.console import Console
from rockiln.errors import DiskError
from rockiln.fatbin import ledgers, notes
from rockiln.fatbin.slim_tree import SlimOptions, slim_copy, slim_in_place

GFX942 = SlimOptions(archs=frozenset({"gfx942"}), jobs=1)
SILENT = Console(None)
NAMES = ("a.so", "b.so", "c.so")
KILL_AFTER = """
import os, signal, sys
from pathlib import Path
from rockiln.console import Console
from rockiln.fatbin import slim_tree
real, left = slim_tree.slim_file, [int(sys.argv[2])]
def slim_or_die(*args, **options):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return real(*args, **options)
slim_tree.slim_file = slim_or_die
options = slim_tree.SlimOptions(archs=frozenset({"gfx942"}), jobs=1)
slim_tree.slim_in_place(Path(sys.argv[1]), options, Console(None))
"""


def row_of(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(content)}\n"


@pytest.fixture
def site(tmp_path: Path, built: Path) -> Path:
    """Three fat files, all in RECORD and in md5sums."""
    site = tmp_path / "root" / "site"
    (site / "pkg-1.dist-info").mkdir(parents=True)
    info = tmp_path / "root/var/lib/dpkg/info"
    info.mkdir(parents=True)
    for name in NAMES:
        shutil.copy(built, site / name)
    content = built.read_bytes()
    record_of(site).write_text("".join(row_of(name, content) for name in NAMES))
    md5 = hashlib.md5(content).hexdigest()  # noqa: S324 - dpkg's own
    (info / "pkg.md5sums").write_text("".join(f"{md5}  site/{name}\n" for name in NAMES))
    return site


def record_of(site: Path) -> Path:
    return site / "pkg-1.dist-info" / "RECORD"


def stale_rows(site: Path) -> list[str]:
    rows = record_of(site).read_text().splitlines(keepends=True)
    stale = [name for name in NAMES if row_of(name, (site / name).read_bytes()) not in rows]
    sums = (site.parent / "var/lib/dpkg/info/pkg.md5sums").read_text().splitlines()
    md5s = {name: hashlib.md5((site / name).read_bytes()).hexdigest() for name in NAMES}  # noqa: S324
    assert [name for name in NAMES if f"{md5s[name]}  site/{name}" not in sums] == stale
    return stale


def kill_after(files: int, path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILL_AFTER, path, str(files)], check=False)
    assert killed.returncode == -9


@pytest.mark.parametrize("where", ["", "site", ".."], ids=["same path", "folder", "folder above"])
def test_rerun_after_a_kill_makes_lists_true(site: Path, where: str) -> None:
    kill_after(2, site)
    assert stale_rows(site) == ["a.so", "b.so"]
    path = {"": site, "site": site.parent / "site", "..": site.parent}[where]
    report = slim_in_place(path, GFX942, SILENT)
    assert stale_rows(site) == []
    assert {one.path.name: one.outcome for one in report.files} == {
        "a.so": "unchanged", "b.so": "unchanged", "c.so": "slimmed",
    }  # fmt: skip
    assert [path.name for path in report.corrected] == ["RECORD", "pkg.md5sums"]
    assert sorted(path.name for path in site.iterdir()) == [*NAMES, "pkg-1.dist-info"]


def test_one_file_after_a_kill_is_healed_alone(site: Path) -> None:
    kill_after(2, site)
    slim_in_place(site / "a.so", GFX942, SILENT)
    assert stale_rows(site) == ["b.so"]


def test_copy_of_a_killed_tree_is_true(site: Path, tmp_path: Path) -> None:
    kill_after(2, site)
    slim_copy(site.parent, tmp_path / "copy", GFX942, SILENT)
    assert stale_rows(tmp_path / "copy/site") == []
    assert stale_rows(site) == ["a.so", "b.so"]


def test_dry_run_heals_nothing(site: Path) -> None:
    kill_after(2, site)
    before = sorted(path.name for path in site.iterdir())
    slim_in_place(site, SlimOptions(archs=GFX942.archs, jobs=1, is_dry_run=True), SILENT)
    assert stale_rows(site) == ["a.so", "b.so"]
    assert sorted(path.name for path in site.iterdir()) == before


def test_file_that_was_damaged_after_a_kill_is_not_blessed(site: Path) -> None:
    kill_after(2, site)
    damaged = bytearray((site / "a.so").read_bytes())
    damaged[-1] ^= 1
    (site / "a.so").write_bytes(damaged)
    slim_in_place(site, GFX942, SILENT)
    assert stale_rows(site) == ["a.so"]


def test_row_that_was_false_before_is_left_alone(site: Path) -> None:
    """A file that slim never touched may be damaged: whoever checks it has to see that."""
    slim_in_place(site, GFX942, SILENT)
    record_of(site).write_text(record_of(site).read_text().replace("a.so,sha256=", "a.so,sha256=x"))
    report = slim_in_place(site, GFX942, SILENT)
    assert report.corrected == ()


@pytest.mark.parametrize("ledger", ["RECORD", "pkg.md5sums"])
def test_list_that_cannot_be_written_stops_before_the_first_cut(
    site: Path, built: Path, monkeypatch: pytest.MonkeyPatch, ledger: str
) -> None:
    real = os.access

    def refuse(path: Path, mode: int) -> bool:
        return real(path, mode) and path.name != {"RECORD": "pkg-1.dist-info"}.get(ledger, "info")

    monkeypatch.setattr(ledgers.os, "access", refuse)  # type: ignore[attr-defined]
    with pytest.raises(DiskError, match=rf"{ledger} cannot be written, but names .*a\.so") as raised:
        slim_in_place(site, GFX942, SILENT)
    assert "--cache" not in raised.value.hint
    assert all((site / name).read_bytes() == built.read_bytes() for name in NAMES)
    monkeypatch.undo()
    slim_in_place(site, GFX942, SILENT)
    assert stale_rows(site) == []
    monkeypatch.setattr(ledgers.os, "access", refuse)  # type: ignore[attr-defined]
    assert {one.outcome for one in slim_in_place(site, GFX942, SILENT).files} == {"unchanged"}


def test_linked_list_is_corrected_where_it_is(site: Path) -> None:
    (site / "kept").mkdir()
    record_of(site).rename(site / "kept/LIST")
    record_of(site).symlink_to("../kept/LIST")
    slim_in_place(site, GFX942, SILENT)
    assert stale_rows(site) == []
    assert record_of(site).is_symlink()


def test_linked_list_outside_of_the_tree_stops_before_the_first_cut(site: Path, tmp_path: Path, built: Path) -> None:
    record_of(site).rename(tmp_path / "LIST")
    record_of(site).symlink_to(tmp_path / "LIST")
    with pytest.raises(DiskError, match=r"RECORD is a link to .*/LIST, outside of"):
        slim_in_place(site, GFX942, SILENT)
    assert (site / "a.so").read_bytes() == built.read_bytes()


def test_line_of_any_length_stays(site: Path) -> None:
    long = f"{'x' * 140_000}.py,,\n"
    record_of(site).write_text(long + record_of(site).read_text())
    slim_in_place(site, GFX942, SILENT)
    assert record_of(site).read_text().startswith(long)
    assert stale_rows(site) == []


def test_name_that_is_not_utf8_is_json(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = b"\xff\n\x1b[31m.so"
    shutil.copy(site / "a.so", site / os.fsdecode(name))
    assert main(["slim", str(site), "--archs", "gfx942", "--dry-run", "--json"]) == 0
    report = json.loads(capsys.readouterr().out.encode("utf-8"))
    assert name in {os.fsencode(one["path"]).rpartition(b"/")[2] for one in report["files"]}
    assert main(["slim", str(site), "--archs", "gfx942"]) == 0
    assert r"\udcff\n\u001b[31m.so " in capsys.readouterr().out


def test_list_that_fails_after_the_cut_is_corrected_by_the_next_run(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DiskError("full")

    monkeypatch.setattr(ledgers, "write_whole", fail)
    with pytest.raises(DiskError, match="full"):
        slim_in_place(site, GFX942, SILENT)
    monkeypatch.undo()
    assert stale_rows(site) == list(NAMES)
    slim_in_place(site, GFX942, SILENT)
    assert stale_rows(site) == []


def test_file_for_other_archs_loses_its_line_first(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends between the two leaves a file without a line, and the next run takes it."""
    from rockiln.fatbin import slim_tree

    data = site / "aotriton.images/amd-gfx90a/x.aks2"
    for path in (data, site / "aotriton.images/amd-gfx942/x.aks2"):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"AKS2")
    line = "aotriton.images/amd-gfx90a/x.aks2,sha256=x,4\n"
    record_of(site).write_text(record_of(site).read_text() + line)
    with monkeypatch.context() as killed:
        killed.setattr(slim_tree, "_remove_files", lambda _: None)
        slim_in_place(site, GFX942, SILENT)
    assert data.exists()
    assert line not in record_of(site).read_text()
    slim_in_place(site, GFX942, SILENT)
    assert not data.exists()


def test_notes_are_told_from_other_files(tmp_path: Path) -> None:
    assert notes.is_note(notes.note_path(tmp_path / "x.so").name)
    assert not notes.is_note("..rockiln-note"[1:])
    (tmp_path / ".x.so.rockiln-note").write_text("not a note")
    (tmp_path / "x.so").write_text("x")
    assert notes.read_notes([tmp_path / ".x.so.rockiln-note", tmp_path / ".y.rockiln-note"]) == {}
