"""ExportRequest → a GitHub Actions workflow: shards → push → smoke on GPU runners → promote.

The form: https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rockiln.export.documents import Document, to_yaml
from rockiln.export.request import ExportRequest
from rockiln.export.runs import list_gpu_runs
from rockiln.export.scripts import (
    CLEAN,
    KEY_SECRETS,
    SECRETS,
    TOOLS,
    Step,
    list_build_steps,
    list_promote_steps,
    list_smoke_steps,
    name_cache,
)

PATH = ".github/workflows/images.yml"
CHECKOUT, UPLOAD, DOWNLOAD = "actions/checkout@v4", "actions/upload-artifact@v4", "actions/download-artifact@v4"
HOSTED = ("ubuntu-24.04",)
OWN_HOST = "ghcr.io"
"""Where GitHub's own token logs in."""
IS_TRIAL, NO_TRIAL = "github.event_name == 'pull_request'", "github.event_name != 'pull_request'"
CLEANING = {"name": "Clean", "if": "always()", "run": CLEAN}
UNRESTRICT = "sudo sysctl -q kernel.apparmor_restrict_unprivileged_userns=0\n"
"""GitHub's Ubuntu forbids what a build needs of the kernel."""


def export_github(request: ExportRequest) -> tuple[Document, ...]:
    """One workflow."""
    host = request.repository.partition("/")[0]
    workflow: dict[str, Any] = {
        "name": "images",
        "on": {
            "push": {"branches": [request.branch]},
            "pull_request": {"branches": [request.branch]},
            "workflow_dispatch": {},
        },
        "permissions": {"contents": "read", **({"packages": "write"} if host == OWN_HOST else {})},
        "concurrency": {"group": "images-${{ github.ref }}", "cancel-in-progress": False},
        "defaults": {"run": {"shell": "bash"}},
        "env": {"ROCKILN_TO": request.repository, "REGISTRY_HOST": host, **name_cache(request)},
        "jobs": _make_jobs(request, host),
    }
    return (Document(path=PATH, text=to_yaml([workflow], f"Made by: {request.command}")),)


def _make_jobs(request: ExportRequest, host: str) -> dict[str, Any]:
    runs = list_gpu_runs(request)
    jobs = {"build": _make_build(request, host)}
    if runs:
        rows = [
            {"target": run.target_id, "arch": run.runner.arch, "tier": run.runner.tier, "runner": [*run.runner.labels]}
            for run in runs
        ]
        jobs["smoke"] = {
            "name": "smoke ${{ matrix.tier }} ${{ matrix.arch }} ${{ matrix.target }}",
            "needs": "build",
            "if": NO_TRIAL,
            "runs-on": "${{ matrix.runner }}",
            "strategy": {"fail-fast": False, "matrix": {"include": rows}},
            "env": {"TARGETS": "${{ matrix.target }}", "TIER": "${{ matrix.tier }}"},
            "steps": [*_fetch_digests(), *_make_steps(list_smoke_steps(request), request, host), CLEANING],
        }
    jobs["promote"] = {
        "needs": [*jobs],
        "if": NO_TRIAL,
        **_choose_machine(request),
        "env": {"TARGETS": " ".join(planned.id for planned in request.targets)},
        "steps": [*_fetch_digests(), *_make_steps(list_promote_steps(request), request, host), CLEANING],
    }
    return jobs


def _make_build(request: ExportRequest, host: str) -> dict[str, Any]:
    rows = [
        {"shard": str(number), "targets": " ".join(shard)} for number, shard in enumerate(request.shards, start=1)
    ]
    steps: list[dict[str, Any]] = [{"uses": CHECKOUT}]
    if not request.build_labels and not request.job_image:
        steps.append({"name": "Allow user namespaces", "run": UNRESTRICT})
    steps += _make_steps(list_build_steps(request), request, host)
    tried = TOOLS + 'for target in $TARGETS; do\n  "$tools/bin/rockiln" smoke "$target" --tier cpu\ndone\n'
    steps.append({"name": "Smoke what is proposed", "if": IS_TRIAL, "run": tried})
    upload = {"name": "digests-${{ matrix.shard }}", "path": "build/*/push.json", "if-no-files-found": "error"}
    steps.append({"name": "Keep digests", "if": NO_TRIAL, "uses": UPLOAD, "with": upload})
    steps.append(CLEANING)
    return {
        "name": "build shard ${{ matrix.shard }}",
        **_choose_machine(request),
        "strategy": {"fail-fast": False, "matrix": {"include": rows}},
        "env": {"TARGETS": "${{ matrix.targets }}"},
        "steps": steps,
    }


def _choose_machine(request: ExportRequest) -> dict[str, Any]:
    """In a container a build needs what --privileged gives: namespaces, and mounts in them."""
    machine: dict[str, Any] = {"runs-on": [*(request.build_labels or HOSTED)]}
    if request.job_image:
        machine["container"] = {"image": request.job_image, "options": "--privileged"}
    return machine


def _fetch_digests() -> Iterable[dict[str, Any]]:
    yield {"uses": CHECKOUT}
    download = {"pattern": "digests-*", "path": "build", "merge-multiple": True}
    yield {"name": "Fetch digests", "uses": DOWNLOAD, "with": download}


def _make_steps(steps: Sequence[Step], request: ExportRequest, host: str) -> list[dict[str, Any]]:
    """Secrets are given to the steps that need them, and to no other."""
    return [
        {
            "name": step.name,
            **({"if": NO_TRIAL, "env": _name_secrets(step, request, host)} if step.publishes else {}),
            "run": step.script,
        }
        for step in steps
    ]


def _name_secrets(step: Step, request: ExportRequest, host: str) -> dict[str, str]:
    names = [name for name in (*SECRETS, *KEY_SECRETS) if name in step.script]
    if request.is_signed and "cosign.key" in step.script and "rockiln\" " in step.script:
        names.append("COSIGN_PASSWORD")
    found = {name: f"${{{{ secrets.{name} }}}}" for name in dict.fromkeys(names)}
    if host == OWN_HOST and "REGISTRY_USER" in found:
        found |= {"REGISTRY_USER": "${{ github.actor }}", "REGISTRY_PASSWORD": "${{ secrets.GITHUB_TOKEN }}"}
    return found
