"""What a build has in hand → AuditReport; and back from audit.json to what it says against the image."""

from __future__ import annotations

import json
from pathlib import Path

from rockiln.audit.audit import audit_scan
from rockiln.audit.finding import AuditReport, Finding
from rockiln.audit.inspect_file import Wanted
from rockiln.audit.needles import find_needles
from rockiln.audit.scan_folder import scan_rootfs
from rockiln.audit.scan_image import read_layout
from rockiln.console import printable
from rockiln.contents import Contents
from rockiln.errors import AuditFailedError
from rockiln.image import Image
from rockiln.invocation import Invocation
from rockiln.plan import PlannedTarget
from rockiln.rootfs import Rootfs

_SHOWN = 5


def audit_build(
    planned: PlannedTarget, rootfs: Rootfs, contents: Contents, image: Image, invocation: Invocation
) -> AuditReport:
    """The same findings as of the finished image, without reading its layers again."""
    settings = read_layout(image.layout_path).settings
    wanted = Wanted(needles=find_needles(invocation.matrix, invocation.environ))
    return audit_scan(scan_rootfs(planned.id, rootfs, contents, settings, wanted, invocation))


def read_report(path: Path) -> AuditReport | None:
    """What a build wrote; None where it is not there or damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return AuditReport(
            subject=value["subject"],
            archs=tuple(value["archs"]),
            findings=tuple(Finding(**row) for row in value["findings"]),
            counts=value["counts"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_audit_fault(report: AuditReport) -> AuditFailedError | None:
    """The error that fails a build: each finding of severity error, with what to do."""
    errors = report.at_least("error")
    if not errors:
        return None
    found = [f"{one.rule} {one.path or 'image settings'}: {one.evidence}" for one in errors[:_SHOWN]]
    lines = [f"  {printable(line)}" for line in found]
    rest = [f"  and {len(errors) - _SHOWN} more"] if len(errors) > _SHOWN else []
    number = f"{len(errors)} error{'s' * (len(errors) > 1)}"
    message = "\n".join((f"{report.subject}: the audit found {number}", *lines, *rest))
    return AuditFailedError(message, hint=f"{errors[0].remedy}; rockiln audit {report.subject} shows all")
