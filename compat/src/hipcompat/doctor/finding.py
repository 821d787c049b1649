"""What a check sees → findings; which rules follow from which, so that the first cause comes first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or will be."""

    rule: str
    severity: Severity
    message: str
    advice: tuple[str, ...] = ()
    because: str = ""
    """The rule of another finding that explains this one."""


_DRIVER = ("no-amd-gpu", "driver-not-bound", "driver-not-loaded", "kfd-not-built")
_DEVICES = (*_DRIVER, "no-kfd", "kfd-refused", "no-render-node", "render-refused", "device-denied")
EXPLAINED_BY: dict[str, tuple[str, ...]] = {
    "no-amd-gpu": (),
    "driver-not-bound": (),
    "driver-not-loaded": ("no-amd-gpu",),
    "kfd-not-built": ("no-amd-gpu", "driver-not-bound", "driver-not-loaded"),
    "no-kfd": _DRIVER,
    "kfd-refused": (),
    "no-render-node": (*_DRIVER, "no-kfd"),
    "render-refused": (),
    "device-denied": (),
    "no-gpu-in-topology": (*_DRIVER, "no-kfd", "no-render-node", "device-denied"),
    "gpu-without-node": ("no-render-node",),
    "cdi-stale": _DRIVER,
    "cdi-missing": (),
    "visible-hides-all": ("no-gpu-in-topology",),
    "visible-stops": (),
    "visible-clash": ("visible-hides-all",),
    "visible-shadowed": (),
    "visible-ordinal": (),
    "visible-rocr-torch": (),
    "visible-rocr-ray": (),
    "arch-overridden": (),
    "integrated-gpu": (),
    "torch-not-hip": (),
    "tensorflow-not-rocm": (),
    "jax-without-rocm": (),
    "jax-versions-differ": (),
    "nvidia-wheels": ("torch-not-hip", "jax-without-rocm"),
    "distribution-twice": (),
    "record-collision": ("distribution-twice",),
    "amdsmi-without-library": (),
    "host-libraries-bound": (),
    "library-path-set": ("host-libraries-bound",),
    "rocm-copies": ("host-libraries-bound", "library-path-set"),
    "pack-for-no-gpu-here": ("arch-overridden",),
    "pack-missing": ("arch-overridden", "pack-for-no-gpu-here"),
    "shm-small": (),
    "memory-limit": (),
    "process-limit": (),
}
"""Rule → the rules that would explain it. The order of the keys is the order of causes: hardware, driver, devices,
choice of devices, software, limits."""
_RANK = {rule: rank for rank, rule in enumerate(EXPLAINED_BY)}


def order_findings(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors' first causes first, what follows from another points to it and comes after its kind."""
    findings = list(found)
    present = {finding.rule for finding in findings}
    linked = [replace(finding, because=_find_cause(finding.rule, present)) for finding in findings]
    return tuple(sorted(linked, key=lambda one: (bool(one.because), SEVERITIES.index(one.severity), _RANK[one.rule])))


def _find_cause(rule: str, present: set[str]) -> str:
    """The earliest rule that explains this one, directly or through others."""
    return next((cause for cause in EXPLAINED_BY[rule] if cause in present), "")
