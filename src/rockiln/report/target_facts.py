"""build/TARGET/*.json → what the page says of one target, as plain JSON without its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rockiln.audit.rules import RULES
from rockiln.budget import Budget
from rockiln.built_values import has_value, read_value
from rockiln.sizes.difference import Measured

Record = dict[str, Any]
OTHER_ARCHS = "other-archs"
"""Rule under which kernel data for other GPUs is dropped."""
LISTED_PATHS = 100
"""Of each drop rule, the largest."""


def describe_target(target_id: str, folder: Path, measured: Measured, budget: Budget) -> Record:
    """Sums, layers, what was left out and why, and what checks said; None where a check has not run."""
    plan = read_value(folder, "plan")
    target, sizes = plan["target"], measured.sizes
    return {
        "id": target_id,
        "title": _describe_row(target, plan["taken"]["version"]),
        "evidence": plan["taken"]["evidence"],
        "digest": sizes.digest,
        "compressed": sizes.compressed_bytes,
        "unpacked": sizes.unpacked_bytes,
        "files": len(measured.files or ()),
        "budget": {"compressed": budget.compressed_bytes, "unpacked": budget.unpacked_bytes},
        "archs": dict(sizes.archs),
        "kinds": dict(sizes.kinds),
        "layers": [
            {"title": layer.title, "id": layer.diff_id, "compressed": layer.compressed_bytes,
             "unpacked": layer.unpacked_bytes, "owners": list(layer.owners)}
            for layer in sizes.layers
        ],
        "drops": _sum_drops(read_value(folder, "dropped"), plan["recipe"]),
        "slimmed": _read_slimmed(folder, plan["recipe"]),
        "audit": _read_audit(folder),
        "smoke": _read_smoke(folder, sizes.digest),
    }  # fmt: skip


def _describe_row(target: Mapping[str, Any], version: str) -> str:
    archs = f" for {', '.join(target['archs'])}" if target["archs"] else ""
    origin = "Debian's " if target["rocm_origin"] == "debian" else ""
    platform = f"{origin}ROCm {target['rocm']}{archs}" if target["rocm"] else "CPU"
    flavour = f", {target['flavour']}" if target["flavour"] else ""
    return f"{target['framework']} {version} on {platform}, Python {target['python']}, {target['os']}{flavour}"


def _sum_drops(dropped: Iterable[Mapping[str, Any]], recipe: Mapping[str, Any]) -> list[Record]:
    """A record a rule, the largest first."""
    reasons = {OTHER_ARCHS: "data about GPUs that this image is not for"}
    reasons |= {rule["rule"]: rule["why"] for rule in recipe["drops"]}
    by_rule: dict[str, list[Mapping[str, Any]]] = {}
    for item in dropped:
        by_rule.setdefault(item["rule"], []).append(item)
    records = [_sum_rule(rule, reasons.get(rule, ""), items) for rule, items in by_rule.items()]
    return sorted(records, key=lambda record: (-record["bytes"], record["rule"]))


def _sum_rule(rule: str, why: str, items: list[Mapping[str, Any]]) -> Record:
    largest = sorted(items, key=lambda item: (-item["size_bytes"], item["path"]))[:LISTED_PATHS]
    return {
        "rule": rule,
        "why": why,
        "files": len(items),
        "bytes": sum(item["size_bytes"] for item in items),
        "largest": [[item["path"], item["size_bytes"], item["owner"]] for item in largest if item["size_bytes"]],
    }


def _read_slimmed(folder: Path, recipe: Mapping[str, Any]) -> Record | None:
    """Stripped libraries by rule, files with code or data for GPUs, links; what went whole is among the drops."""
    slimmed = _find_value(folder, "slimmed")
    if slimmed is None:
        return None
    rows = [row for row in slimmed["files"] if row["outcome"] != "dropped"]
    reasons = {rule["rule"]: rule["why"] for rule in recipe["strips"]}
    by_rule: dict[str, list[Record]] = {}
    for row in slimmed["stripped"]:
        by_rule.setdefault(row["rule"], []).append(row)
    stripped = [{"rule": rule, "why": reasons.get(rule, ""), "files": found} for rule, found in by_rule.items()]
    return {"stripped": stripped, "files": rows, "shared": slimmed["shared"]}


def _read_audit(folder: Path) -> Record | None:
    """Findings, and what each of their rules means."""
    audit = _find_value(folder, "audit")
    if audit is None:
        return None
    rules = sorted({finding["rule"] for finding in audit["findings"]} & RULES.keys())
    return {"findings": audit["findings"], "meanings": {rule: RULES[rule].meaning for rule in rules}}


def _read_smoke(folder: Path, digest: str) -> Record | None:
    smoke = _find_value(folder, "smoke")
    return {**smoke, "is_current": smoke["image_digest"] == digest} if smoke else None


def _find_value(folder: Path, stage: str) -> Any:
    """The value of a stage; None where it left none."""
    return read_value(folder, stage) if has_value(folder, stage) else None
