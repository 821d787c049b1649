"""Diagnosis → text: the first cause on top, then what is here, then the rest."""

from __future__ import annotations

from hipcompat.answer import tabulate
from hipcompat.doctor.diagnose import Diagnosis
from hipcompat.doctor.finding import Finding


def format_diagnosis(diagnosis: Diagnosis) -> str:
    """Findings in order, each with its advice; then facts."""
    blocks = [describe_finding(finding) for finding in diagnosis.findings]
    if diagnosis.findings and diagnosis.findings[0].severity != "note":
        blocks[0] = f"first cause: {blocks[0]}"
    return "\n".join([*(blocks or ["nothing is wrong that can be seen from here"]), "", *_describe_facts(diagnosis)])


def describe_finding(finding: Finding) -> str:
    """severity [rule] message, and its advice below."""
    because = f" (follows from {finding.because})" if finding.because else ""
    head = f"{finding.severity} [{finding.rule}] {finding.message}{because}"
    return "\n".join([head, *(f"    {line}" for line in finding.advice)])


def format_quickly(findings: tuple[Finding, ...]) -> str:
    """As the entrypoint says it, for the same place."""
    lines = (line for finding in findings for line in (finding.message, *(f"  {text}" for text in finding.advice)))
    return "\n".join(f"rockiln: {line}" for line in lines)


def _describe_facts(diagnosis: Diagnosis) -> list[str]:
    rows: list[tuple[str, ...]] = [
        ("container", diagnosis.container or "none"),
        ("driver", f"amdgpu {diagnosis.driver}" if diagnosis.driver else "none"),
        ("flags", f"docker run {diagnosis.devices.make_flags()} --ipc=host"),
    ]
    if diagnosis.devices.cdi_paths:
        rows.append(("", "docker run --device amd.com/gpu=all"))
    rows += [("built for", f"{one.framework} {one.version}: HIP {one.hip or 'no'}, CUDA {one.cuda or 'no'}")
             for one in diagnosis.identities]  # fmt: skip
    rows += [("pack", f"{pack.arch}, {pack.kernels} kernels") for pack in diagnosis.packs]
    rows += [("limits", text) for text in _describe_limits(diagnosis)]
    return [tabulate(rows), *_describe_gpus(diagnosis)]


def _describe_limits(diagnosis: Diagnosis) -> list[str]:
    limits = diagnosis.limits
    texts = [
        f"shared memory {limits.shm_kib // 1024} MiB" if limits.shm_kib is not None else "",
        f"memory {limits.memory_bytes / 2**30:.1f} GiB" if limits.memory_bytes is not None else "",
        f"{limits.processes} threads" if limits.processes is not None else "",
        f"{limits.cpus:g} CPUs" if limits.cpus is not None else "",
    ]
    return [", ".join(filter(None, texts))] if any(texts) else []


def _describe_gpus(diagnosis: Diagnosis) -> list[str]:
    if not diagnosis.gpus:
        return []
    numbers = {index: str(place) for place, index in enumerate(diagnosis.visible.gpus)}
    rows: list[tuple[str, ...]] = [("GPU", "arch", "memory", "address", "render node", "number in HIP")]
    rows += [
        (
            str(gpu.index),
            gpu.arch,
            f"{gpu.vram_bytes / 2**30:.0f} GiB",
            gpu.address,
            gpu.render_path or "-",
            numbers.get(gpu.index, "hidden"),
        )
        for gpu in diagnosis.gpus
    ]
    return [tabulate(rows), diagnosis.visible.explain()]
