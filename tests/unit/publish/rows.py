"""Planned rows for tests of publishing: a CPU row, and one for two GPUs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from packaging.version import Version
from planning import make_planned

from rockiln.checks import Check
from rockiln.plan import Plan, PlannedTarget

CHECKS = tuple(
    Check(name=name, path=Path(f"{name}.py"), tier=tier, timeout_s=1)
    for name, tier in (("imports", "cpu"), ("computes", "cpu"), ("kernels", "gpu"))
)  # fmt: skip


def make_row(framework: str = "jax", os: str = "debian-12", flavour: str = "", **changes: object) -> PlannedTarget:
    """FRAMEWORK-1.0-cpu-py3.11-OS."""
    planned = make_planned(framework=framework)
    target = replace(planned.target, os=os, flavour=flavour, **changes)  # type: ignore[arg-type]  # of tests
    recipe = replace(planned.recipe, smoke_tiers=("cpu",), required_tiers=("cpu",))
    return replace(planned, target=target, recipe=recipe)


def make_gpu_row(framework: str = "torch") -> PlannedTarget:
    """For gfx942 and gfx950, with a GPU tier that is not required."""
    row = make_row(framework, "ubuntu-24.04", rocm=Version("7.0.2"), rocm_origin="amd", archs=("gfx942", "gfx950"))
    return replace(row, recipe=replace(row.recipe, smoke_tiers=("cpu", "gpu")))


def make_plan_of(*rows: PlannedTarget) -> Plan:
    return Plan(targets=rows, rejected=())
