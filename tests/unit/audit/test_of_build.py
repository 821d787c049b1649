"""What a build's audit says against the image, from audit.json."""

from __future__ import annotations

from pathlib import Path

from rockiln.audit.finding import AuditReport
from rockiln.audit.of_build import find_audit_fault, read_report
from rockiln.audit.rules import find
from rockiln.jsonable import write_value


def make_report(*rules: str) -> AuditReport:
    findings = tuple(find(rule, "usr/lib/liba.so", "evidence") for rule in rules)
    return AuditReport(subject="row", archs=("gfx942",), findings=findings, counts={"elf": 1})


def test_report_survives_the_disk(tmp_path: Path) -> None:
    report = make_report("needed-missing", "runpath-unsafe")
    write_value(report, tmp_path / "audit.json")
    assert read_report(tmp_path / "audit.json") == report


def test_damaged_report_is_none(tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_text('{"subject": "row"}')
    assert read_report(tmp_path / "audit.json") is None
    assert read_report(tmp_path / "gone.json") is None


def test_errors_fail_a_build_and_say_where_and_what_to_do() -> None:
    fault = find_audit_fault(make_report("needed-missing", "runpath-unsafe"))
    assert fault is not None
    assert fault.exit_code == 18
    assert fault.message == "row: the audit found 1 error\n  needed-missing /usr/lib/liba.so: evidence"
    assert fault.hint.startswith("install the package that brings it")


def test_warnings_and_expected_findings_fail_no_build() -> None:
    expected = find("needed-missing", "usr/lib/liba.so", "evidence", severity="expected", reason="known")
    report = AuditReport(subject="row", archs=(), findings=(find("runpath-unsafe", "", "x"), expected))
    assert find_audit_fault(report) is None
