"""ExportRequest → Kubernetes Jobs that run the GPU checks of published images, a file a target."""

from __future__ import annotations

from rockiln.checks import find_checks
from rockiln.errors import UsageError
from rockiln.export.documents import Document, to_yaml
from rockiln.export.pods import make_config_maps, make_job
from rockiln.export.request import GPU_TIERS, ExportRequest


def export_kubernetes(request: ExportRequest) -> tuple[Document, ...]:
    """Raises UsageError where no target has checks for a GPU."""
    documents = []
    for planned in request.targets:
        checks = find_checks(planned.recipe)
        by_tier = {tier: [check for check in checks if check.tier == tier] for tier in GPU_TIERS}
        image = request.images[planned.id]
        jobs = [
            make_job(planned, arch, tier, found, image, request.pod)
            for arch in planned.target.archs
            for tier, found in by_tier.items()
            if found and tier in planned.recipe.smoke_tiers
        ]
        if jobs:
            text = to_yaml([*make_config_maps(planned), *jobs], f"Made by: {request.command}")
            documents.append(Document(path=f"kubernetes/{planned.id}.yaml", text=text))
    if not documents:
        hint = "rockiln smoke runs CPU checks on any machine; Jobs are for rows with archs"
        raise UsageError("none of these targets has checks for a GPU", hint=hint)
    return tuple(documents)
