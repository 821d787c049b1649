"""Report → SARIF 2.1.0, as code scanning services read it.

Format: OASIS, Static Analysis Results Interchange Format 2.1.0, sections 3.13 (log), 3.14 (run), 3.27 (result).
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import hipcompat
from hipcompat.scan.finding import Finding, Report
from hipcompat.scan.rule import Rule
from hipcompat.scan.rules import RULES

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SURROGATE = re.compile("[\ud800-\udfff]")


def format_sarif(report: Report) -> str:
    """One run; the rules that found something, and the results in order."""
    used = sorted({finding.rule for finding in report.findings})
    places = {rule: index for index, rule in enumerate(used)}
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {
                    "name": "hipcompat", "version": hipcompat.__version__, "semanticVersion": hipcompat.__version__,
                    "rules": [_describe_rule(RULES[rule]) for rule in used],
                }},
                "columnKind": "unicodeCodePoints",
                "results": [_describe_result(finding, places[finding.rule]) for finding in report.findings],
                "invocations": [{
                    "executionSuccessful": True,
                    "toolExecutionNotifications": [
                        {"level": "note", "message": {"text": f"{_clean(skipped.path)}: not read ({skipped.reason})"}}
                        for skipped in report.skipped
                    ],
                }],
            }
        ],
    }  # fmt: skip
    return json.dumps(log, indent=2)


def _describe_rule(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "help": {"text": rule.advice},
        "helpUri": rule.evidence,
        "defaultConfiguration": {"level": rule.severity},
    }


def _describe_result(finding: Finding, index: int) -> dict[str, object]:
    rule = RULES[finding.rule]
    detail = f" ({_clean(finding.detail)})" if finding.detail else ""
    uri = quote(finding.path.encode("utf-8", "surrogateescape"), safe="/.-_~")
    place = {"artifactLocation": {"uri": uri}, "region": _make_region(finding)}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": f"{rule.title}{detail}. {rule.advice}"},
        "locations": [{"physicalLocation": place, **_name_cell(finding)}],
        "partialFingerprints": {"hipcompat/v1": finding.fingerprint},
    }


def _make_region(finding: Finding) -> dict[str, object]:
    """In the file: a notebook's is JSON, whose text the snippet would not be."""
    line, start, end = finding.line, finding.column, finding.end_column
    if cell := finding.cell:
        line, start, end = cell.file_line, cell.file_column, cell.file_end_column
    region: dict[str, object] = {"startLine": line, "startColumn": start, "endColumn": max(start, end)}
    return region if cell else {**region, "snippet": {"text": _clean(finding.excerpt)}}


def _name_cell(finding: Finding) -> dict[str, object]:
    """Section 3.28.4: the cell as a logical location, with the line and column in its source."""
    if finding.cell is None:
        return {}
    name = f"cell {finding.cell.number}:{finding.line}:{finding.column}"
    return {"logicalLocations": [{"name": name, "fullyQualifiedName": f"cells[{finding.cell.number - 1}].source"}]}


def _clean(text: str) -> str:
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
