"""Reports as Trivy, Grype and CycloneDX tools write them, about the packages of signed_image.py."""

from __future__ import annotations

import json
from typing import Any

TRIVY: dict[str, Any] = {
    "SchemaVersion": 2, "ArtifactName": "sbom.cdx.json", "ArtifactType": "cyclonedx",
    "Results": [
        {"Target": "debian 12", "Class": "os-pkgs", "Type": "debian", "Vulnerabilities": [
            {"VulnerabilityID": "CVE-2025-0001", "PkgName": "tool", "InstalledVersion": "1.0-1",
             "PkgIdentifier": {"PURL": "pkg:deb/debian/tool@1.0-1?arch=amd64&distro=debian-12"},
             "FixedVersion": "1.0-2", "Severity": "CRITICAL", "Title": "tool: overflow", "Status": "fixed"},
            {"VulnerabilityID": "CVE-2025-0002", "PkgName": "libtool", "InstalledVersion": "1.0-2", "Severity": "LOW"},
        ]},
        {"Target": "Python", "Class": "lang-pkgs", "Type": "python-pkg"},
    ],
}  # fmt: skip
GRYPE: dict[str, Any] = {
    "matches": [
        {"vulnerability": {"id": "GHSA-xxxx-yyyy-zzzz", "severity": "High", "description": "a hole\nin it",
                           "fix": {"versions": ["2.1"], "state": "fixed"}},
         "relatedVulnerabilities": [{"id": "CVE-2025-0003"}],
         "artifact": {"name": "my-wheel", "version": "2.0", "type": "python", "purl": "pkg:pypi/my-wheel@2.0"}},
        {"vulnerability": {"id": "CVE-2025-0004", "severity": "Unknown", "fix": {"versions": [], "state": "unknown"}},
         "artifact": {"name": "tool", "version": "1.0-1", "purl": "pkg:deb/debian/tool@1.0-1?arch=amd64"}},
    ],
    "descriptor": {"name": "grype"},
}  # fmt: skip
CYCLONEDX: dict[str, Any] = {
    "bomFormat": "CycloneDX", "specVersion": "1.6",
    "components": [
        {"bom-ref": "one", "type": "library", "name": "tool", "version": "1.0-1", "purl": "pkg:deb/debian/tool@1.0-1"},
    ],
    "vulnerabilities": [
        {"id": "CVE-2025-0005", "ratings": [{"severity": "medium"}, {"severity": "high"}], "affects": [{"ref": "one"}]},
    ],
}  # fmt: skip


def as_bytes(value: object) -> bytes:
    return json.dumps(value).encode()
