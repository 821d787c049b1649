"""rockiln audit: what it prints, in which form, and with which exit code. Every rule is documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from audit_trees import SITE, AuditTree, install_torch, make_tree
from rockiln.audit.finding import SEVERITIES
from rockiln.audit.needles import find_needles
from rockiln.audit.rules import RULES
from rockiln.cli import main
from rockiln.matrix import read_matrix

ROOT = Path(__file__).parents[3]


@pytest.fixture
def faulty(tmp_path: Path) -> AuditTree:
    """One error, one warning, one expected finding."""
    tree = make_tree(tmp_path / "root")
    accepted = {"finding": "path-file-leads-out", "paths": [f"{SITE}/extra.pth"], "why": "known"}
    tree.promise("gfx942", expected=[accepted])
    install_torch(tree, "2.8.0", "None")
    tree.write(f"{SITE}/extra.pth", "/gone\n")
    tree.write(f"{SITE}/more.pth", "/gone\n")
    return tree


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["--quiet", "audit", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_errors_decide_the_exit_code(faulty: AuditTree, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, error = run(capsys, str(faulty.path))
    assert code == 18
    assert ": 1 finding\n" in error
    assert "docs/audit.md" in error
    assert text.endswith("1 error, 1 warning, 1 expected\n")
    assert f"/{SITE}/torch/version.py" in text
    assert "→ install torch from the ROCm index alone" in text


@pytest.mark.parametrize(("fail_on", "expected"), [("never", 0), ("error", 18), ("warning", 18), ("note", 18)])
def test_fail_on_decides_what_counts(
    faulty: AuditTree, capsys: pytest.CaptureFixture[str], fail_on: str, expected: int
) -> None:
    assert run(capsys, str(faulty.path), "--fail-on", fail_on)[0] == expected


def test_warnings_alone_pass_unless_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = make_tree(tmp_path / "root")
    tree.write(f"{SITE}/extra.pth", "/gone\n")
    assert run(capsys, str(tree.path))[0] == 0
    assert run(capsys, str(tree.path), "--fail-on", "warning")[0] == 18


def test_clean_tree_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = make_tree(tmp_path / "root")
    code, text, _ = run(capsys, str(tree.path))
    assert code == 0
    assert text.endswith("nothing found\n")


def test_json_is_the_reports(faulty: AuditTree, capsys: pytest.CaptureFixture[str]) -> None:
    (report,) = json.loads(run(capsys, str(faulty.path), "--json")[1])
    assert report["archs"] == ["gfx942"]
    assert [one["severity"] for one in report["findings"]] == ["error", "warning", "expected"]
    assert report["findings"][0].keys() == {"rule", "severity", "path", "evidence", "remedy", "reason"}


def test_same_tree_gives_the_same_bytes(faulty: AuditTree, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {run(capsys, str(faulty.path), "--json", "--jobs", jobs)[1] for jobs in ("1", "2")}
    assert len(texts) == 1


def test_provided_library_is_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = make_tree(tmp_path / "root")
    driver = AuditTree(path=tmp_path).compile("libdriver.so.1", "int f(void) { return 0; }")
    tree.compile("usr/lib/x86_64-linux-gnu/liba.so.1", "int f(void); int g(void) { return f(); }", str(driver))
    assert run(capsys, str(tree.path))[0] == 18
    assert run(capsys, str(tree.path), "--provided-by-host", "libdriver.so.1")[0] == 0


def test_mirror_host_of_the_command_line_is_looked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = make_tree(tmp_path / "root")
    tree.write("etc/pip.conf", "[global]\nindex-url = https://wheels.corp.example/simple\n")
    assert run(capsys, str(tree.path))[0] == 0
    assert run(capsys, str(tree.path), "--mirror-host", "wheels.corp.example")[0] == 18


@pytest.mark.parametrize(
    ("word", "code", "hint"),
    [("./not-there", 2, "give a target"), ("no-target-of-this-name", 3, ""), ("/dev/null/x", 2, "give a target")],
)
def test_wrong_subject_is_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, word: str, code: int, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found, text, error = run(capsys, word)
    assert found == code
    assert text == ""
    assert error.startswith("rockiln: error: ")
    assert hint in error


def sarif_of(faulty: AuditTree, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(run(capsys, str(faulty.path), "--format", "sarif")[1])
    return value


def test_sarif_names_rules_places_and_reasons(faulty: AuditTree, capsys: pytest.CaptureFixture[str]) -> None:
    value = sarif_of(faulty, capsys)
    (run_,) = value["runs"]
    rules = run_["tool"]["driver"]["rules"]
    assert (value["version"], [rule["id"] for rule in rules]) == ("2.1.0", sorted(RULES))
    assert [result["level"] for result in run_["results"]] == ["error", "warning", "note"]
    for result in run_["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert not place["uri"].startswith("/")
        assert place["uriBaseId"] in run_["originalUriBaseIds"]
    assert run_["results"][2]["suppressions"] == [{"kind": "external", "justification": "known"}]


def test_every_rule_is_documented_with_its_severity() -> None:
    page = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `([a-z0-9-]+)` \| (\w+) \| \S", page, re.MULTILINE))
    assert documented == {rule.id: rule.severity for rule in RULES.values()}
    assert set(documented.values()) <= set(SEVERITIES)


def test_rules_that_only_look_at_a_tree_know_nothing_of_rockiln() -> None:
    folder = ROOT / "src/rockiln/audit/installed"
    for path in folder.glob("*.py"):
        imports = re.findall(r"^from (rockiln\S*)", path.read_text(encoding="utf-8"), re.MULTILINE)
        own = ("rockiln.audit.installed", "rockiln.installed.")
        assert not [name for name in imports if not name.startswith(own)], path


def test_needles_are_hosts_of_mirrors_but_never_the_sources_own(tmp_path: Path) -> None:
    text = (ROOT / "matrix.toml").read_text(encoding="utf-8")
    own = read_matrix(ROOT / "matrix.toml").sources["rocm-debs"].url
    mirrors = f'rocm-debs = ["https://key:word@mirror.example.com/rocm", "http://127.0.0.1:8123/x", "{own}"]\n'
    (tmp_path / "matrix.toml").write_text(text.replace("[mirrors]\n", f"[mirrors]\n{mirrors}"), encoding="utf-8")
    found = find_needles(read_matrix(tmp_path / "matrix.toml"), {})
    assert {"mirror.example.com", "127.0.0.1:8123"} <= set(found)
    assert "127.0.0.1" not in found
    assert own.split("/")[2] not in found
