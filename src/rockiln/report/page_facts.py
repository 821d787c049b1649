"""Folders of built targets → all that a page shows, as plain JSON: what targets share is there once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import rockiln
from rockiln.budget import Budget
from rockiln.built_values import read_value
from rockiln.errors import UsageError
from rockiln.report.file_tree import Node, build_tree, count_nodes, prune
from rockiln.report.target_facts import describe_target
from rockiln.sizes.difference import Measured
from rockiln.sizes.inventory import HOST
from rockiln.sizes.kinds import KINDS
from rockiln.sizes.stored import read_measured

NODE_LIMIT = 60_000
"""Files and folders that a page holds; about 40 bytes each."""
FIRST_FLOOR_BYTES = 1024


def gather_facts(folders: Mapping[str, Path], budgets: Mapping[str, Budget]) -> dict[str, Any]:
    """What the page shows of each target (id → its folder in build/). Raises UsageError for one that is not built.

    Budgets are those of the recipes as they are now: a build does not depend on them.
    """
    measured = {target_id: _require_measured(target_id, folder) for target_id, folder in folders.items()}
    archs = sorted({arch for one in measured.values() for arch in one.sizes.archs} - {HOST})
    trees: dict[str, int] = {}
    targets = []
    for target_id, folder in folders.items():
        facts = describe_target(target_id, folder, measured[target_id], budgets.get(target_id, Budget()))
        facts["packages"] = _list_packages(folder, measured[target_id], archs, trees)
        targets.append(facts)
    pruned, floor_bytes = _prune_all([json.loads(text) for text in trees])
    return {
        "generator": f"rockiln {rockiln.__version__}",
        "kinds": list(KINDS),
        "archs": archs,
        "floor": floor_bytes,
        "trees": pruned,
        "targets": targets,
    }


def _require_measured(target_id: str, folder: Path) -> Measured:
    measured = read_measured(folder)
    if measured is None:
        raise UsageError(f"{target_id} is not built, or by an older rockiln", hint=f"rockiln build {target_id}")
    return measured


def _list_packages(
    folder: Path, measured: Measured, archs: Sequence[str], trees: dict[str, int]
) -> list[dict[str, Any]]:
    """Each owner with its class and the number of its tree; equal trees of two targets have one number."""
    owners = read_value(folder, "rootfs")["owners"]
    files: dict[str, list[Any]] = {}
    for file in (measured.files or {}).values():
        files.setdefault(file.owner, []).append(file)
    packages = []
    for owner, size in measured.sizes.packages.items():
        tree = json.dumps(build_tree(files.get(owner, ()), measured.sizes.code, archs))
        known = owners.get(owner) or {}
        packages.append({
            "name": owner, "version": size.version, "bytes": size.size_bytes, "files": size.files,
            "class": known.get("stability", "image"), "tree": trees.setdefault(tree, len(trees)),
        })  # fmt: skip
    return sorted(packages, key=lambda package: (-int(str(package["bytes"])), str(package["name"])))


def _prune_all(trees: list[Node]) -> tuple[list[Node], int]:
    """All trees within NODE_LIMIT: the smaller a file, the sooner it is only counted."""
    floor_bytes, pruned = 0, trees
    while sum(map(count_nodes, pruned)) > NODE_LIMIT:
        floor_bytes = floor_bytes * 2 or FIRST_FLOOR_BYTES
        pruned = [prune(tree, floor_bytes) for tree in pruned]
    return pruned, floor_bytes
