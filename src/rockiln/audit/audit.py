"""Scan → AuditReport: every family of audits over one tree. A new family is one more function in FAMILIES."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from rockiln.audit.closure import audit_closure
from rockiln.audit.device import audit_device
from rockiln.audit.finding import AuditReport, Finding, sort_findings
from rockiln.audit.identity import audit_identity
from rockiln.audit.installed.distributions import list_distributions
from rockiln.audit.kernels import audit_kernels
from rockiln.audit.leaks import audit_leaks
from rockiln.audit.loading import audit_loading
from rockiln.audit.promises import Promises, read_promises
from rockiln.audit.scan import Scan
from rockiln.audit.site_files import audit_site_files
from rockiln.slim import compile_globs

Audit = Callable[[Scan, Promises], Iterator[Finding]]
FAMILIES: tuple[Audit, ...] = (
    audit_identity,
    audit_site_files,
    audit_closure,
    audit_loading,
    audit_device,
    audit_kernels,
    audit_leaks,
)


def audit_scan(scan: Scan, archs: tuple[str, ...] = (), absent: Mapping[str, str] | None = None) -> AuditReport:
    """Every finding, sorted. `archs` and `absent` (soname → why) add to what the image says of itself."""
    promises = read_promises(scan, archs, absent)
    found = (finding for family in FAMILIES for finding in family(scan, promises))
    findings = sort_findings(_accept(finding, promises) for finding in found)
    counts = {
        "paths": len(scan.tree.nodes),
        "elf": len(scan.tree.elves),
        "device_code": len(scan.targets),
        "distributions": len(list_distributions(scan.tree)),
    }
    return AuditReport(subject=scan.subject, archs=promises.archs, findings=findings, counts=counts)


def _accept(finding: Finding, promises: Promises) -> Finding:
    """The same, or expected where the image's recipe says so."""
    for one in promises.expected:
        if one.finding == finding.rule and compile_globs(one.paths).fullmatch(finding.path.lstrip("/")):
            return replace(finding, severity="expected", reason=one.why)
    return finding
