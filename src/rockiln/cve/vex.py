"""Judgement + SBOM → a CycloneDX VEX document: what is known of each vulnerability in the image, for whoever scans it.

https://cyclonedx.org/capabilities/vex/; components are named by BOM-Link into the SBOM.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import rockiln
from rockiln.cve.gate import Judged, Judgement
from rockiln.jsonable import dump

if TYPE_CHECKING:
    from cyclonedx.model.vulnerability import Vulnerability, VulnerabilityAnalysis


def make_vex(judgement: Judgement, sbom: Mapping[str, Any]) -> bytes:
    """The same bytes for the same findings, waivers and SBOM; what nobody has spoken of is in triage."""
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.tool import ToolRepository
    from cyclonedx.output.json import JsonV1Dot6

    tool = Component(name="rockiln", version=rockiln.__version__, type=ComponentType.APPLICATION, bom_ref="rockiln")
    serial = uuid.UUID(str(sbom["serialNumber"]).removeprefix("urn:uuid:"))
    bom = Bom(
        metadata=BomMetaData(tools=ToolRepository(components=[tool])),
        vulnerabilities=[_describe(one, serial) for one in judgement.judged],
        serial_number=uuid.uuid5(serial, "vex"),
    )
    value = json.loads(JsonV1Dot6(bom).output_as_string())
    value["metadata"].pop("timestamp", None)
    value.get("vulnerabilities", []).sort(key=lambda row: str(row["bom-ref"]))
    return dump(value).encode()


def _describe(one: Judged, serial: uuid.UUID) -> Vulnerability:
    from cyclonedx.model.bom_ref import BomRef
    from cyclonedx.model.vulnerability import (
        BomTarget,
        Vulnerability,
        VulnerabilityRating,
        VulnerabilityReference,
        VulnerabilitySeverity,
        VulnerabilitySource,
    )

    severity = {"negligible": "info", "unknown": "unknown"}.get(one.finding.severity, one.finding.severity)
    source = VulnerabilitySource(name="NVD" if one.finding.id.startswith("CVE-") else "other")
    return Vulnerability(
        bom_ref=BomRef(f"{one.finding.id} {one.ref}"), id=one.finding.id, source=source,
        references=[VulnerabilityReference(id=alias, source=source) for alias in one.finding.aliases],
        ratings=[VulnerabilityRating(severity=VulnerabilitySeverity(severity))],
        description=one.finding.title or None, affects=[BomTarget(ref=_make_link(serial, one.ref))],
        recommendation=f"{one.owner} {one.finding.fixed}" if one.finding.fixed else None, analysis=_analyse(one),
    )  # fmt: skip


def _analyse(one: Judged) -> VulnerabilityAnalysis:
    from cyclonedx.model.impact_analysis import ImpactAnalysisJustification, ImpactAnalysisState
    from cyclonedx.model.vulnerability import VulnerabilityAnalysis

    if one.verdict == "harmless":
        return VulnerabilityAnalysis(state=ImpactAnalysisState.NOT_AFFECTED, detail="as the VEX document given says")
    if one.waiver is None or one.verdict == "expired":
        return VulnerabilityAnalysis(state=ImpactAnalysisState.IN_TRIAGE)
    waiver = one.waiver
    return VulnerabilityAnalysis(
        state=ImpactAnalysisState(waiver.state), detail=f"{waiver.why} (until {waiver.expires})",
        justification=ImpactAnalysisJustification(waiver.justification) if waiver.justification else None,
    )  # fmt: skip


def _make_link(serial: uuid.UUID, ref: str) -> str:
    """https://cyclonedx.org/capabilities/bomlink/"""
    from urllib.parse import quote

    return f"urn:cdx:{serial}/1#{quote(ref, safe='')}"
