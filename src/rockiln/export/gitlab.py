"""ExportRequest → .gitlab-ci.yml: shards → push → smoke on GPU runners → promote.

The form: https://docs.gitlab.com/ci/yaml/
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rockiln.export.documents import Document, to_yaml
from rockiln.export.request import ExportRequest, Runner
from rockiln.export.runs import list_gpu_runs
from rockiln.export.scripts import CLEAN, Step, list_build_steps, list_promote_steps, list_smoke_steps, name_cache

PATH = ".gitlab-ci.yml"
DIGESTS = ["build/*/push.json"]


def export_gitlab(request: ExportRequest) -> tuple[Document, ...]:
    """One file. Secrets are CI/CD variables of the project; nothing of them stands in it."""
    host = request.repository.partition("/")[0]
    pipeline: dict[str, Any] = {
        "stages": ["build", "smoke", "promote"],
        "workflow": {"rules": [{"if": f'$CI_COMMIT_BRANCH == "{request.branch}"'}]},
        "variables": {"ROCKILN_TO": request.repository, "REGISTRY_HOST": host, **name_cache(request)},
        "default": {
            "interruptible": False,
            "after_script": [CLEAN],
            **({"image": request.job_image} if request.job_image else {}),
        },
        "build": {
            **_choose(request.build_labels),
            "stage": "build",
            "parallel": {"matrix": [{"SHARD": [str(number)], "TARGETS": [" ".join(shard)]}
                                    for number, shard in enumerate(request.shards, start=1)]},
            "script": _list_scripts(list_build_steps(request)),
            "artifacts": {"paths": DIGESTS, "expire_in": "1 week"},
        },
        **_make_smoke_jobs(request),
        "promote": {
            **_choose(request.build_labels),
            "stage": "promote",
            "variables": {"TARGETS": " ".join(planned.id for planned in request.targets)},
            "script": _list_scripts(list_promote_steps(request)),
        },
    }  # fmt: skip
    return (Document(path=PATH, text=to_yaml([pipeline], f"Made by: {request.command}")),)


def _make_smoke_jobs(request: ExportRequest) -> dict[str, Any]:
    """A job for each kind of runner: the tags of a job are one list, and its targets a matrix."""
    by_runner: dict[Runner, list[str]] = {}
    for run in list_gpu_runs(request):
        by_runner.setdefault(run.runner, []).append(run.target_id)
    return {
        f"smoke {runner.tier} {runner.arch}": {
            **_choose(runner.labels),
            "stage": "smoke",
            "variables": {"TIER": runner.tier},
            "parallel": {"matrix": [{"TARGETS": targets}]},
            "script": _list_scripts(list_smoke_steps(request)),
        }
        for runner, targets in sorted(by_runner.items(), key=lambda item: (item[0].arch, item[0].tier))
    }


def _choose(labels: Sequence[str]) -> dict[str, Any]:
    return {"tags": [*labels]} if labels else {}


def _list_scripts(steps: Sequence[Step]) -> list[str]:
    """One text a step; `set -eu` since a runner looks at the end of a text only."""
    return [f"set -eu\n{step.script}" for step in steps]
