"""A scanner's report (Trivy's or Grype's JSON, CycloneDX with vulnerabilities) → ScanFindings, whoever made it.

Trivy: https://trivy.dev/latest/docs/configuration/reporting/#json; Grype: `grype -o json`, matches[];
CycloneDX: https://cyclonedx.org/docs/1.6/json/#vulnerabilities.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rockiln.errors import UsageError
from rockiln.shape_faults import name_shape_fault

SEVERITIES = ("negligible", "low", "medium", "unknown", "high", "critical")
"""The least first. What no scanner has rated counts for more than medium, since nobody knows."""
_WORDS = {"info": "negligible", "none": "negligible", "moderate": "medium", "important": "high"}
_HINT = "give what `trivy sbom --format json`, `grype -o json`, or either of them as cyclonedx-json wrote"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ScanFinding:
    """One vulnerability in one package."""

    id: str
    """CVE-…, GHSA-…"""
    package: str
    """Name as the scanner has it; in a VEX document, the bom-ref in our SBOM."""
    version: str
    purl: str
    """"" where the scanner names none."""
    severity: str
    fixed: str
    """Version that is not affected; "" where there is none yet."""
    title: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """One report."""

    scanner: str
    findings: tuple[ScanFinding, ...]
    not_affected: tuple[tuple[str, str], ...] = ()
    """(id, purl) of which a VEX document says that it does no harm."""
    subjects: frozenset[str] = frozenset()
    """What the report says it scanned: names, the last parts of paths, digests, the serial number of an SBOM."""


def read_report(content: bytes, name: str) -> ScanReport:
    """Raises UsageError for anything that is none of the three."""
    try:
        value = json.loads(content)
        if not isinstance(value, dict):
            raise ValueError("no JSON object")  # noqa: TRY301, TRY004  # one message for all
        scanner, read = _find_reader(value)
        findings = sorted(set(read(value)))
        harmless = sorted(set(_read_harmless(value))) if scanner == "cyclonedx" else []
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise UsageError(f"{name}: not a scanner's report: {name_shape_fault(fault)}", hint=_HINT) from fault
    subjects = frozenset(part for one in _SUBJECTS[scanner](value) if one for part in (one, one.rpartition("/")[2]))
    return ScanReport(
        scanner=scanner, findings=tuple(findings), not_affected=tuple(harmless), subjects=subjects
    )  # fmt: skip


def _find_reader(value: Mapping[str, Any]) -> tuple[str, Any]:
    if value.get("bomFormat") == "CycloneDX":
        if "vulnerabilities" not in value:
            raise ValueError("CycloneDX without vulnerabilities: an SBOM, and no scan of one")
        return "cyclonedx", _read_cyclonedx
    if "matches" in value:
        return "grype", _read_grype
    if "SchemaVersion" in value:
        if value["SchemaVersion"] != 2:
            raise ValueError(f"Trivy's SchemaVersion {value['SchemaVersion']!r}; 2 is read")
        return "trivy", _read_trivy
    raise ValueError("neither Trivy's, Grype's nor CycloneDX")


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    """What is there under `key` has to be a list; null or not there is empty."""
    found = value.get(key)
    if found is not None and not isinstance(found, list):
        raise ValueError(f"{key} is no list")
    return found or []


def _name_trivy(value: Mapping[str, Any]) -> list[str]:
    return [str(value.get("ArtifactName") or "")]


def _name_grype(value: Mapping[str, Any]) -> list[str]:
    """`source.target` is a path, or says of an image what it is called."""
    source = value.get("source")
    target = source.get("target") if isinstance(source, dict) else None
    if isinstance(target, dict):
        return [str(target.get(key) or "") for key in ("userInput", "manifestDigest", "imageID")]
    return [target] if isinstance(target, str) else []


def _name_cyclonedx(value: Mapping[str, Any]) -> list[str]:
    """The component that it is about; a VEX document names an SBOM by a BOM-Link, urn:cdx:SERIAL/VERSION#REF."""
    metadata = value.get("metadata")
    component = metadata.get("component") if isinstance(metadata, dict) else None
    named = [str(component.get(key) or "") for key in ("name", "bom-ref")] if isinstance(component, dict) else []
    return [str(value.get("serialNumber") or ""), *named]


_SUBJECTS = {"trivy": _name_trivy, "grype": _name_grype, "cyclonedx": _name_cyclonedx}


def _read_trivy(value: Mapping[str, Any]) -> Iterator[ScanFinding]:
    for result in _list(value, "Results"):
        for row in _list(result, "Vulnerabilities"):
            yield ScanFinding(
                id=str(row["VulnerabilityID"]), package=str(row["PkgName"]), version=str(row["InstalledVersion"]),
                purl=str((row.get("PkgIdentifier") or {}).get("PURL", "")), severity=_rate(row.get("Severity")),
                fixed=str(row.get("FixedVersion") or ""), title=_shorten(row.get("Title") or row.get("Description")),
            )  # fmt: skip


def _read_grype(value: Mapping[str, Any]) -> Iterator[ScanFinding]:
    for row in _list(value, "matches"):
        found, artifact = row["vulnerability"], row["artifact"]
        aliases = {str(one["id"]) for one in row.get("relatedVulnerabilities") or ()} - {str(found["id"])}
        yield ScanFinding(
            id=str(found["id"]), package=str(artifact["name"]), version=str(artifact["version"]),
            purl=str(artifact.get("purl") or ""), severity=_rate(found.get("severity")),
            fixed=", ".join(map(str, (found.get("fix") or {}).get("versions") or ())),
            title=_shorten(found.get("description")), aliases=tuple(sorted(aliases)),
        )  # fmt: skip


def _read_cyclonedx(value: Mapping[str, Any]) -> Iterator[ScanFinding]:
    components = {str(one.get("bom-ref", "")): one for one in value.get("components") or ()}
    for row in _list(value, "vulnerabilities"):
        if (row.get("analysis") or {}).get("state") in _HARMLESS:
            continue
        severities = [_rate(one.get("severity")) for one in row.get("ratings") or ()] or ["unknown"]
        for affected in row.get("affects") or ():
            ref = _strip_link(str(affected["ref"]))
            component = components.get(ref, {})
            yield ScanFinding(
                id=str(row["id"]), package=str(component.get("name", ref)),
                version=str(component.get("version", "")), purl=str(component.get("purl", "")),
                severity=max(severities, key=SEVERITIES.index), fixed="", title=_shorten(row.get("description")),
            )  # fmt: skip


_HARMLESS = frozenset({"not_affected", "false_positive", "resolved", "resolved_with_pedigree"})


def _read_harmless(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for row in _list(value, "vulnerabilities"):
        if (row.get("analysis") or {}).get("state") in _HARMLESS:
            yield from ((str(row["id"]), _strip_link(str(one["ref"]))) for one in row.get("affects") or ())


def _strip_link(ref: str) -> str:
    """A BOM-Link names a component after "#", percent-encoded: https://cyclonedx.org/capabilities/bomlink/."""
    from urllib.parse import unquote

    return unquote(ref.partition("#")[2]) if ref.startswith("urn:cdx:") else ref


def _rate(word: object) -> str:
    text = str(word or "unknown").lower()
    text = _WORDS.get(text, text)
    return text if text in SEVERITIES else "unknown"


def _shorten(text: object) -> str:
    line = " ".join(str(text or "").split())
    return line if len(line) <= 160 else f"{line[:159]}…"


def merge_harmless(reports: Iterable[ScanReport]) -> frozenset[tuple[str, str]]:
    """What any VEX document among the reports says."""
    return frozenset(pair for report in reports for pair in report.not_affected)
