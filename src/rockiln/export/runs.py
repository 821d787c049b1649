"""ExportRequest → which target is smoked on which runners: each tier of its recipe on each of its archs."""

from __future__ import annotations

from dataclasses import dataclass

from rockiln.errors import UsageError
from rockiln.export.request import ExportRequest, Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRun:
    """A target on one kind of machine."""

    target_id: str
    runner: Runner


def list_gpu_runs(request: ExportRequest) -> tuple[GpuRun, ...]:
    """Raises UsageError for runners that no target asks for, and where a required tier has no runner."""
    runs = tuple(
        GpuRun(target_id=planned.id, runner=runner)
        for planned in request.targets
        for runner in request.runners
        if runner.arch in planned.target.archs and runner.tier in planned.recipe.smoke_tiers
    )
    used = {run.runner for run in runs}
    for runner in request.runners:
        if runner not in used:
            message = f"--runner {runner.arch}/{runner.tier}: no target is made for it"
            raise UsageError(message, hint="rockiln plan lists the targets, with their archs")
    if not request.allow_untested:
        _require_all(request, {(run.target_id, run.runner.arch, run.runner.tier) for run in runs})
    return runs


def _require_all(request: ExportRequest, covered: set[tuple[str, str, str]]) -> None:
    """Without them promote would refuse, after everything else was done."""
    lacking = [
        f"{arch}/{tier}"
        for planned in request.targets
        for arch in planned.target.archs
        for tier in planned.recipe.smoke_tiers
        if tier != "cpu" and (planned.id, arch, tier) not in covered
    ]
    if lacking:
        names = ", ".join(dict.fromkeys(lacking))
        hint = "--runner ARCH[/multi-gpu]=LABEL,... for each, or --allow-untested, which the images then say"
        raise UsageError(f"no runner for {names}: promote would refuse", hint=hint)
