"""ExportRequest → Kubernetes Jobs that run the GPU checks of published images, a file a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rockiln.checks import Check, find_checks
from rockiln.errors import UsageError
from rockiln.export.attesting_pods import make_attesting_job
from rockiln.export.documents import Document, to_yaml
from rockiln.export.pods import make_config_maps, make_job
from rockiln.export.request import GPU_TIERS, ExportRequest
from rockiln.plan import PlannedTarget


def export_kubernetes(request: ExportRequest) -> tuple[Document, ...]:
    """Raises UsageError where no target has checks for a GPU."""
    documents = []
    for planned in request.targets:
        checks = find_checks(planned.recipe)
        by_tier = {tier: [check for check in checks if check.tier == tier] for tier in GPU_TIERS}
        image = request.images[planned.id]
        jobs = [
            _make_job(planned, arch, tier, found, image, request)
            for arch in planned.target.archs
            for tier, found in by_tier.items()
            if found and tier in planned.recipe.smoke_tiers
        ]
        if jobs:
            maps = () if request.attesting else make_config_maps(planned)
            text = to_yaml([*maps, *jobs], f"Made by: {request.command}")
            documents.append(Document(path=f"kubernetes/{planned.id}.yaml", text=text))
    if not documents:
        hint = "rockiln smoke runs CPU checks on any machine; Jobs are for rows with archs"
        raise UsageError("none of these targets has checks for a GPU", hint=hint)
    return tuple(documents)


def _make_job(
    planned: PlannedTarget, arch: str, tier: str, checks: Sequence[Check], image: str, request: ExportRequest
) -> dict[str, Any]:
    if request.attesting:
        return make_attesting_job(planned, arch, tier, checks, image, request.pod, request.attesting)
    return make_job(planned, arch, tier, checks, image, request.pod)
