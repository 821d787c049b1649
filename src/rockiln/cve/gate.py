"""SBOM + reports + waivers + a date → Judgement: each finding open, waived, expired or below what counts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from rockiln.cve.scan_report import SEVERITIES, ScanFinding, ScanReport, merge_harmless
from rockiln.cve.waivers import Waiver
from rockiln.errors import UsageError, VulnerableError

_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One finding."""

    finding: ScanFinding
    ref: str
    """Of the component in the SBOM."""
    owner: str
    """As recipes name it: "deb:libssl3"."""
    verdict: str
    """"open", "expired", "waived", "harmless" (a VEX document says so), "unfixed" (no fixed version yet) or "minor"."""
    waiver: Waiver | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One image."""

    subject: str
    date: dt.date
    fail_on: str
    judged: tuple[Judged, ...]
    unused: tuple[Waiver, ...]
    """Waivers that nothing needs any more."""

    def having(self, *verdicts: str) -> tuple[Judged, ...]:
        return tuple(one for one in self.judged if one.verdict in verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What counts."""

    fail_on: str
    date: dt.date
    only_fixable: bool = False


def judge_findings(
    sbom: Mapping[str, Any], reports: Sequence[ScanReport], waivers: Sequence[Waiver], rules: Rules,
    sbom_name: str = "",
) -> Judgement:
    """Raises UsageError where a report names a package that the SBOM lacks, or neither a package nor what it scanned:
    it may be of another image, or cut short. `sbom_name` is the SBOM's file, which scanners name."""
    for report in reports:
        _require_subject(report, sbom, sbom_name)
    subject = str(sbom["metadata"]["component"]["name"])
    components = _index_components(sbom)
    harmless = merge_harmless(reports)
    found: dict[tuple[str, str], tuple[ScanFinding, Mapping[str, Any]]] = {}
    for finding in sorted(finding for report in reports for finding in report.findings):
        component = _find_component(finding, components, subject)
        key = (finding.id, str(component["bom-ref"]))
        if key not in found or _says_more(finding, found[key][0]):
            found[key] = (finding, component)
    judged = tuple(_judge(*found[key], harmless, waivers, rules) for key in sorted(found))
    used = {one.waiver for one in judged}
    unused = tuple(one for one in waivers if one not in used)
    return Judgement(subject=subject, date=rules.date, fail_on=rules.fail_on, judged=judged, unused=unused)


def _require_subject(report: ScanReport, sbom: Mapping[str, Any], sbom_name: str) -> None:
    """What finds something is held against the SBOM by its packages; what finds nothing has to say what it scanned."""
    component = sbom["metadata"]["component"]
    name = str(component["name"])
    known = {
        sbom_name, name, name.rpartition("/")[2], str(sbom["serialNumber"]), str(component.get("version") or ""),
        str(component.get("bom-ref") or ""),
    } - {""}  # fmt: skip
    if report.findings or report.not_affected or report.subjects & known:
        return
    said = f"is of {', '.join(sorted(report.subjects))}" if report.subjects else "does not say what was scanned"
    hint = f"scan {sbom_name or 'sbom.cdx.json'} of this very image anew: `trivy sbom FILE`, `grype sbom:FILE`"
    raise UsageError(f"a report of {report.scanner}'s form finds nothing and {said}, not {name}: cut short?", hint=hint)


def find_fault(judgements: Iterable[Judgement]) -> VulnerableError | None:
    """The fault that open and expired findings amount to."""
    lines = [
        f"{judgement.subject}: {one.finding.severity} {one.finding.id} in {one.owner} {one.finding.version}"
        + (f", fixed in {one.finding.fixed}" if one.finding.fixed else "")
        + (f"; its waiver expired on {one.waiver.expires}" if one.waiver else "")
        for judgement in judgements
        for one in judgement.having("open", "expired")
    ]
    if not lines:
        return None
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    hint = "bump the package (rockiln lock --refresh debs), or say why not: [[waiver]] in supply-chain.toml"
    return VulnerableError("\n  ".join(("vulnerable:", *lines[:_SHOWN], *more)), hint=hint)


def _index_components(sbom: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """By bom-ref, by package URL without qualifiers, and by name and version."""
    found: dict[str, Mapping[str, Any]] = {}
    for row in sbom["components"]:
        if row["type"] == "library":
            keys = (f"{row['name']} {row['version']}", strip_qualifiers(str(row.get("purl", ""))), str(row["bom-ref"]))
            found |= dict.fromkeys(keys, row)
    return found


def strip_qualifiers(purl: str) -> str:
    """…/zlib1g@1%3A1.2?arch=amd64 → …/zlib1g@1:1.2: scanners differ in qualifiers and in what they encode."""
    from urllib.parse import unquote

    return unquote(purl.partition("?")[0])


def _says_more(finding: ScanFinding, other: ScanFinding) -> bool:
    """Of two reports of one thing a scanner's goes before a VEX document, and the worse rating before the other."""
    first, second = ((bool(one.version), SEVERITIES.index(one.severity)) for one in (finding, other))
    return first > second


def _find_component(
    finding: ScanFinding, components: Mapping[str, Mapping[str, Any]], subject: str
) -> Mapping[str, Any]:
    keys = (strip_qualifiers(finding.purl), f"{finding.package} {finding.version}".strip())
    found = next((components[key] for key in keys if key in components), None)
    if found is None:
        what = f"{finding.package} {finding.version}".strip()
        hint = "scan sbom.cdx.json of this very image: `trivy sbom FILE`, `grype sbom:FILE`"
        raise UsageError(f"the report names {what}, which the SBOM of {subject} lacks", hint=hint)
    return found


def _judge(
    finding: ScanFinding, component: Mapping[str, Any], harmless: frozenset[tuple[str, str]],
    waivers: Sequence[Waiver], rules: Rules,
) -> Judged:  # fmt: skip
    ref = str(component["bom-ref"])
    owner = ref.partition(" ")[0]
    ids = {finding.id, *finding.aliases}
    fitting = [one for one in waivers if one.id in ids and any(fnmatchcase(owner, glob) for glob in one.packages)]
    waiver = max(fitting, key=lambda one: one.expires, default=None)
    purl = strip_qualifiers(str(component.get("purl", "")))
    is_harmless = any((one, key) in harmless for one in ids for key in (ref, purl, str(component.get("purl", ""))))
    if is_harmless:
        verdict = "harmless"
    elif waiver and waiver.holds_on(rules.date):
        verdict = "waived"
    elif SEVERITIES.index(finding.severity) < SEVERITIES.index(rules.fail_on):
        verdict = "minor"
    elif rules.only_fixable and not finding.fixed:
        verdict = "unfixed"
    else:
        verdict = "expired" if waiver else "open"
    return Judged(finding=finding, ref=ref, owner=owner, verdict=verdict, waiver=waiver)
