"""Findings of three formats, judged: what counts, what a waiver covers and until when, and what the VEX says."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from rockiln.cve.gate import Judgement, Rules, find_fault, judge_findings
from rockiln.cve.scan_report import read_report
from rockiln.cve.vex import make_vex
from rockiln.cve.waivers import Waiver, read_waivers
from rockiln.errors import FileFaultsError, UsageError
from rockiln.sbom.document import make_sbom
from scan_reports import CYCLONEDX, GRYPE, TRIVY, as_bytes
from signed_image import read_checked, write_image

TODAY = dt.date(2026, 1, 15)


@pytest.fixture(scope="module")
def sbom(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("sbom") / "image"
    write_image(folder)
    checked = read_checked(folder)
    assert checked.installed is not None
    value: dict[str, Any] = json.loads(make_sbom(checked.installed, "rockiln/tiny:1", checked.digest))
    return value


def make_waiver(finding: str, *packages: str, expires: dt.date = TODAY, state: str = "not_affected") -> Waiver:
    justification = "code_not_reachable" if state == "not_affected" else ""
    return Waiver(
        id=finding, packages=packages or ("*",), state=state, justification=justification, why="a test", expires=expires
    )


def judge(
    sbom: dict[str, Any], *reports: object, waivers: tuple[Waiver, ...] = (), fail_on: str = "high",
    date: dt.date = TODAY, only_fixable: bool = False,
) -> Judgement:  # fmt: skip
    read = [read_report(as_bytes(report), "scan.json") for report in reports]
    return judge_findings(sbom, read, waivers, Rules(fail_on=fail_on, date=date, only_fixable=only_fixable))


def verdicts(judgement: Judgement) -> dict[str, str]:
    return {one.finding.id: one.verdict for one in judgement.judged}


def test_trivy_is_read(sbom: dict[str, Any]) -> None:
    judgement = judge(sbom, TRIVY)
    assert verdicts(judgement) == {"CVE-2025-0001": "open", "CVE-2025-0002": "minor"}
    assert [one.owner for one in judgement.judged] == ["deb:tool", "deb:libtool"]
    fault = find_fault([judgement])
    assert fault
    assert fault.exit_code == 26
    assert "critical CVE-2025-0001 in deb:tool 1.0-1, fixed in 1.0-2" in fault.message


def test_grype_is_read_and_unknown_counts_for_more_than_medium(sbom: dict[str, Any]) -> None:
    assert verdicts(judge(sbom, GRYPE)) == {"GHSA-xxxx-yyyy-zzzz": "open", "CVE-2025-0004": "minor"}
    assert verdicts(judge(sbom, GRYPE, fail_on="medium"))["CVE-2025-0004"] == "open"


def test_cyclonedx_is_read_with_its_worst_rating(sbom: dict[str, Any]) -> None:
    (one,) = judge(sbom, CYCLONEDX).judged
    assert (one.finding.id, one.finding.severity, one.verdict, one.owner) == (
        "CVE-2025-0005", "high", "open", "deb:tool",
    )  # fmt: skip


def test_waiver_holds_through_its_last_day_and_not_longer(sbom: dict[str, Any]) -> None:
    waivers = (make_waiver("CVE-2025-0001", "deb:tool"),)
    assert find_fault([judge(sbom, TRIVY, waivers=waivers)]) is None
    late = judge(sbom, TRIVY, waivers=waivers, date=TODAY + dt.timedelta(days=1))
    assert verdicts(late)["CVE-2025-0001"] == "expired"
    fault = find_fault([late])
    assert fault
    assert "its waiver expired on 2026-01-15" in fault.message


def test_waiver_of_another_package_or_finding_does_not_hold(sbom: dict[str, Any]) -> None:
    waivers = (make_waiver("CVE-2025-0001", "wheel:*"), make_waiver("CVE-2025-9999"))
    judgement = judge(sbom, TRIVY, waivers=waivers)
    assert verdicts(judgement)["CVE-2025-0001"] == "open"
    assert judgement.unused == waivers


def test_waiver_by_alias_holds(sbom: dict[str, Any]) -> None:
    waivers = (make_waiver("CVE-2025-0003", "wheel:my-*"),)
    assert verdicts(judge(sbom, GRYPE, waivers=waivers))["GHSA-xxxx-yyyy-zzzz"] == "waived"


def test_what_has_no_fix_may_be_left_out(sbom: dict[str, Any]) -> None:
    found = verdicts(judge(sbom, GRYPE, fail_on="low", only_fixable=True))
    assert found == {"GHSA-xxxx-yyyy-zzzz": "open", "CVE-2025-0004": "unfixed"}


def test_report_of_another_image_is_refused(sbom: dict[str, Any]) -> None:
    other = json.loads(json.dumps(GRYPE).replace("my-wheel", "other-wheel"))
    with pytest.raises(UsageError, match=r"names other-wheel 2\.0, which the SBOM of rockiln/tiny:1 lacks"):
        judge(sbom, other)


def test_vex_is_valid_the_same_each_time_and_says_what_the_waiver_says(sbom: dict[str, Any]) -> None:
    waivers = (make_waiver("CVE-2025-0001"),)
    judgement = judge(sbom, TRIVY, GRYPE, waivers=waivers)
    vex = make_vex(judgement, sbom)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(vex.decode()) is None
    assert vex == make_vex(judgement, sbom)
    analyses = {row["id"]: row["analysis"] for row in json.loads(vex)["vulnerabilities"]}
    assert analyses["CVE-2025-0001"]["state"] == "not_affected"
    assert analyses["CVE-2025-0001"]["justification"] == "code_not_reachable"
    assert analyses["CVE-2025-0001"]["detail"] == "a test (until 2026-01-15)"
    assert analyses["GHSA-xxxx-yyyy-zzzz"]["state"] == "in_triage"


def test_vex_that_was_written_makes_the_same_findings_harmless(sbom: dict[str, Any]) -> None:
    vex = json.loads(make_vex(judge(sbom, TRIVY, waivers=(make_waiver("CVE-2025-0001"),)), sbom))
    judgement = judge(sbom, TRIVY, vex)
    assert verdicts(judgement)["CVE-2025-0001"] == "harmless"
    assert find_fault([judgement]) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"matches": [{}]}', b'{"SchemaVersion": 2, "Results": [3]}'])
def test_what_is_no_report_is_refused(content: bytes) -> None:
    with pytest.raises(UsageError, match=r"scan\.json: not a scanner's report"):
        read_report(content, "scan.json")


def test_waivers_file_is_read_and_all_its_faults_are_named(tmp_path: Path) -> None:
    path = tmp_path / "supply-chain.toml"
    good = 'id = "CVE-1"\npackages = ["deb:*"]\nstate = "in_triage"\nwhy = "soon"\nexpires = "2026-02-01"\n'
    path.write_text(f"[[waiver]]\n{good}")
    (waiver,) = read_waivers(path)
    assert (waiver.expires, waiver.state) == (dt.date(2026, 2, 1), "in_triage")
    bad = good.replace("in_triage", "not_affected").replace("2026-02-01", "soon")
    path.write_text(f'[[waiver]]\n{bad}\n[[waiver]]\nid = "x"\n')
    with pytest.raises(FileFaultsError) as caught:
        read_waivers(path)
    for part in ("waiver[0].expires: 'soon' is no date", "justification: missing", "[1].expires", "[1].why"):
        assert part in caught.value.message
