"""AuditReports → SARIF 2.1.0, which code-scanning services read: https://docs.oasis-open.org/sarif/sarif/v2.1.0/."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import quote

import rockiln
from rockiln.audit.finding import AuditReport, Finding
from rockiln.audit.rules import RULES
from rockiln.console import printable

SCHEMA_URL = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
IMAGE_BASE = "IMAGE"
"""uriBaseId: paths are relative to the image's root."""
_INDEX = {rule: number for number, rule in enumerate(sorted(RULES))}

Json = dict[str, object]


def make_sarif(reports: Sequence[AuditReport]) -> Json:
    """One run a report. An expected finding is a suppressed note, with its reason."""
    return {"$schema": SCHEMA_URL, "version": "2.1.0", "runs": [_make_run(report) for report in reports]}


def _make_run(report: AuditReport) -> Json:
    rules = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.meaning},
            "help": {"text": rule.remedy},
            "defaultConfiguration": {"level": rule.severity},
            "properties": {"family": rule.family},
        }
        for rule in (RULES[name] for name in sorted(RULES))
    ]
    driver = {"name": "rockiln audit", "semanticVersion": rockiln.__version__, "rules": rules}
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"rockiln-audit/{printable(report.subject)}"},
        "originalUriBaseIds": {IMAGE_BASE: {"description": {"text": f"the root of {printable(report.subject)}"}}},
        "columnKind": "unicodeCodePoints",
        "results": [_make_result(finding) for finding in report.findings],
    }


def _make_result(finding: Finding) -> Json:
    is_expected = finding.severity == "expected"
    result: Json = {
        "ruleId": finding.rule,
        "ruleIndex": _INDEX[finding.rule],
        "level": "note" if is_expected else finding.severity,
        "message": {"text": f"{printable(finding.evidence)}. {RULES[finding.rule].meaning}: {finding.remedy}."},
        "locations": [_make_location(finding)],
    }
    if is_expected:
        result["suppressions"] = [{"kind": "external", "justification": printable(finding.reason)}]
    return result


def _make_location(finding: Finding) -> Json:
    if not finding.path:
        return {"logicalLocations": [{"name": "image settings", "kind": "object"}]}
    uri = quote(os.fsencode(finding.path.lstrip("/")))
    return {"physicalLocation": {"artifactLocation": {"uri": uri, "uriBaseId": IMAGE_BASE}}}
