"""`rockiln cve` on the command line: exit codes, the VEX file, today and --date, the waivers of a file."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from rockiln.cli import main
from rockiln.sbom.document import make_sbom
from scan_reports import TRIVY, as_bytes
from signed_image import read_checked, write_image

WAIVER = (
    '[[waiver]]\nid = "CVE-2025-0001"\npackages = ["deb:tool"]\nstate = "exploitable"\nwhy = "until the new release"\n'
)


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    """The verb with an SBOM and a scan of it."""
    write_image(tmp_path / "image")
    checked = read_checked(tmp_path / "image")
    assert checked.installed is not None
    (tmp_path / "sbom.cdx.json").write_bytes(make_sbom(checked.installed, "rockiln/tiny:1", checked.digest))
    (tmp_path / "scan.json").write_bytes(as_bytes(TRIVY))
    return ("cve", str(tmp_path / "sbom.cdx.json"), "--scan", str(tmp_path / "scan.json"))


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["--quiet", *argv])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_open_finding_ends_with_its_own_code(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, text, said = run(capsys, *words)
    assert code == 26
    assert "open     critical  CVE-2025-0001" in text
    assert "critical CVE-2025-0001 in deb:tool 1.0-1" in said
    assert run(capsys, *words, "--fail-on", "never")[0] == 0


def test_waiver_ends_on_the_day_it_says(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waivers = tmp_path / "waivers.toml"
    waivers.write_text(f'{WAIVER}expires = "2026-03-31"\n')
    argv = (*words, "--waivers", str(waivers), "--date")
    assert run(capsys, *argv, "2026-03-31")[0] == 0
    assert run(capsys, *argv, "2026-04-01")[0] == 26


def test_without_a_date_today_counts(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waivers = tmp_path / "waivers.toml"
    today = time.strftime("%Y-%m-%d", time.gmtime())
    waivers.write_text(f'{WAIVER}expires = "{today}"\n')
    code, text, _ = run(capsys, *words, "--waivers", str(waivers), "--json")
    assert code == 0 or time.strftime("%Y-%m-%d", time.gmtime()) != today
    assert json.loads(text)["date"] >= today
    waivers.write_text(f'{WAIVER}expires = "2020-01-01"\n')
    assert run(capsys, *words, "--waivers", str(waivers))[0] == 26


def test_vex_is_written_whatever_counts(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, _ = run(capsys, *words, "--vex", str(tmp_path / "vex.json"))
    assert code == 26
    assert len(json.loads((tmp_path / "vex.json").read_bytes())["vulnerabilities"]) == 2


def test_what_cannot_be_used_is_said_before_anything_is_written(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, *words, "--date", "soon")[0] == 2
    assert run(capsys, *words, "--vex", str(tmp_path / "no" / "folder.json"))[0] == 2
    assert run(capsys, "cve", str(tmp_path / "scan.json"), "--scan", str(tmp_path / "scan.json"))[0] == 2
    assert run(capsys, *words, "--waivers", str(tmp_path / "gone.toml"))[0] == 3


def test_every_key_of_a_waiver_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs/cve.md").read_text()
    for key in ("id", "packages", "state", "justification", "why", "expires"):
        assert f"\n{key} = " in page


@pytest.mark.parametrize(
    ("report", "what"),
    [
        ({"SchemaVersion": 2}, "does not say what was scanned"),
        ({"SchemaVersion": 2, "ArtifactName": "debian:12", "Results": []}, "is of debian:12"),
        ({"SchemaVersion": 2, "Results": []}, "does not say what was scanned"),
        ({"matches": []}, "does not say what was scanned"),
        ({"matches": [], "source": {"type": "image", "target": {"userInput": "other:1"}}}, "is of other:1"),
        ({"bomFormat": "CycloneDX", "vulnerabilities": []}, "does not say what was scanned"),
        ({"bomFormat": "CycloneDX", "metadata": {"component": {"name": "rockiln/tiny:1"}}}, "no scan of one"),
        ({"SchemaVersion": 1}, "SchemaVersion 1"),
        ({"SchemaVersion": 2, "Results": {"a": 1}}, "Results is no list"),
        ({"SchemaVersion": 2, "Results": [{"Vulnerabilities": [{}]}]}, "lacks 'VulnerabilityID'"),
        ({"matches": [3]}, "another type"),
        ({"matches": 3}, "matches is no list"),
        ([], "no JSON object"),
    ],
)
def test_report_that_shows_nothing_does_not_pass(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], report: object, what: str
) -> None:
    (tmp_path / "scan.json").write_bytes(as_bytes(report))
    code, text, said = run(capsys, *words)
    assert (code, text) == (2, "")
    assert what in said
    assert not any(word in said for word in ("Error(", "object has no attribute", "unpack", "Traceback"))


@pytest.mark.parametrize(
    "report",
    [
        {"SchemaVersion": 2, "ArtifactName": "build/x/sbom.cdx.json"},
        {"matches": [], "source": {"type": "sbom-file", "target": "/somewhere/sbom.cdx.json"}},
        {"matches": [], "source": {"type": "image", "target": {"userInput": "rockiln/tiny:1"}}},
        {"bomFormat": "CycloneDX", "metadata": {"component": {"name": "rockiln/tiny:1"}}, "vulnerabilities": []},
    ],
)
def test_report_that_finds_nothing_in_this_very_image_passes(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], report: object
) -> None:
    (tmp_path / "scan.json").write_bytes(as_bytes(report))
    code, text, _ = run(capsys, *words)
    assert code == 0
    assert "nothing found" in text


@pytest.mark.parametrize("name", ["scan.json", "sbom.cdx.json", "waivers.toml", "./link"])
def test_document_is_not_written_over_what_is_read(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    waivers = tmp_path / "waivers.toml"
    waivers.write_text(f'{WAIVER}expires = "2026-03-31"\n')
    (tmp_path / "link").symlink_to(tmp_path / "scan.json")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    code, _, said = run(capsys, *words, "--waivers", str(waivers), "--vex", str(tmp_path / name))
    assert (code, f"--vex: {tmp_path / name} is read, too" in said) == (2, True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("name", ["", "gone/sbom.json"])
def test_what_is_no_sbom_is_told_what_image_means(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    code, _, said = run(capsys, "cve", f"{tmp_path}/{name}", *words[2:])
    assert code == 2
    assert "IMAGE is an attested target, or the path of its SBOM" in said
