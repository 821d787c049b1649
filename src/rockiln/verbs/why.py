"""rockiln why: a target and a path → who brought it, which layer holds it, its archs; or which rule dropped it."""

from __future__ import annotations

import argparse
import posixpath
from typing import Any

from rockiln.console import printable
from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.sizes.kinds import find_kind
from rockiln.verbs.answer import Answer
from rockiln.verbs.describe_path import describe_path
from rockiln.verbs.show import read_stage, select_one

Record = dict[str, object]
MAX_STEPS = 1000
"""Links may lead in a circle."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET, PATH, --json."""
    parser.add_argument("target", metavar="TARGET", help="target id, or a glob that names one")
    parser.add_argument("path", metavar="PATH", help="a path inside the image")
    parser.add_argument("--json", action="store_true", help="print the value itself as JSON")


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Look the path up in the values of the last build, through the links that lead to it."""
    target_id = select_one(args.target, invocation)
    rootfs: Record = read_stage(target_id, "rootfs", invocation)
    entries: dict[str, list[object]] = rootfs["entries"]  # type: ignore[assignment]
    path = _follow_folders(args.path.strip("/"), entries)
    value = _find_entry(path, rootfs, target_id, invocation) or _find_dropped(path, target_id, invocation)
    if value is None:
        message = printable(f"{target_id} holds no /{path}, and no rule dropped it")
        raise UsageError(message, hint=printable(_suggest(path, entries)))
    value |= _find_slimmed(path, target_id, invocation)
    value |= _find_archs(path, target_id, invocation) | _find_findings(path, target_id, invocation)
    return Answer(text=describe_path(value), value=value)


def _find_entry(path: str, rootfs: Record, target_id: str, invocation: Invocation) -> Record | None:
    entries: dict[str, list[Any]] = rootfs["entries"]  # type: ignore[assignment]
    if not path:
        return {"path": "", "kind": "directory", "below": _sum_below("", entries)}
    owners: dict[str, dict[str, str]] = rootfs["owners"]  # type: ignore[assignment]
    entry = entries.get(path)
    if entry is None:
        return None
    owner = str(entry[8])
    layers: list[Record] = read_stage(target_id, "layers", invocation)
    layer = next((item["title"] for item in layers if owner in item["owners"]), "")  # type: ignore[operator]
    found = {"path": path, "kind": entry[1], "size_bytes": entry[5], "link": entry[7], "owner": owner, "layer": layer}
    version = owners.get(owner, {}).get("version", "")
    below = _sum_below(path, entries) if entry[1] == "directory" else None
    return {**found, "version": version, "file_kind": find_kind(path) if entry[1] == "file" else "", "below": below}


def _sum_below(path: str, entries: dict[str, list[Any]]) -> Record:
    """Regular files in a folder and all folders in it."""
    start = f"{path}/" if path else ""
    sizes = [row[5] for other, row in entries.items() if row[1] == "file" and other.startswith(start)]
    return {"files": len(sizes), "size_bytes": sum(sizes)}


def _find_dropped(path: str, target_id: str, invocation: Invocation) -> Record | None:
    """A path that a rule took out; with the sum of all that went below it."""
    dropped: list[dict[str, Any]] = read_stage(target_id, "dropped", invocation)
    found = next((item for item in dropped if item["path"] == path), None)
    sizes = [item["size_bytes"] for item in dropped if item["path"].startswith(f"{path}/")]
    return found and {**found, **({"below": {"files": len(sizes), "size_bytes": sum(sizes)}} if sizes else {})}


def _find_slimmed(path: str, target_id: str, invocation: Invocation) -> Record:
    """The rule that took its symbols, what became of its code for GPUs, and the rule by which it is a link."""
    slimmed: dict[str, list[Record]] = read_stage(target_id, "slimmed", invocation)
    names = {"stripped": "stripped", "files": "code", "shared": "shared"}
    return {name: item for part, name in names.items() for item in slimmed[part] if item["path"] == path}


def _find_archs(path: str, target_id: str, invocation: Invocation) -> Record:
    """Bytes of device code in the file as it is now, by target."""
    sizes: dict[str, Any] = read_stage(target_id, "sizes", invocation)
    return {"archs": sizes["code"].get(path, {})}


def _find_findings(path: str, target_id: str, invocation: Invocation) -> Record:
    """What the audit of the build found about it."""
    report: dict[str, Any] = read_stage(target_id, "audit", invocation)
    return {"findings": [finding for finding in report["findings"] if finding["path"] == f"/{path}"]}


def _follow_folders(path: str, entries: dict[str, list[object]]) -> str:
    """/bin/ls → usr/bin/ls: links among the parent folders are followed, the last name is not."""
    done, waiting = "", path.split("/")
    for _ in range(MAX_STEPS):
        if len(waiting) <= 1 and waiting not in ([""], ["."], [".."]):
            break
        done = posixpath.normpath(posixpath.join("/", done, waiting.pop(0))).strip("/")
        entry = entries.get(done)
        if entry is not None and entry[1] == "symlink":
            link = str(entry[7])
            waiting = [*filter(None, link.split("/")), *waiting]
            done = "" if link.startswith("/") else posixpath.dirname(done)
    return "/".join((done, *waiting)).strip("/")


def _suggest(path: str, entries: dict[str, list[object]]) -> str:
    name = posixpath.basename(path)
    similar = sorted(other for other in entries if posixpath.basename(other) == name)[:3]
    return f"there is /{', /'.join(similar)}" if similar else "rockiln show TARGET rootfs lists every path"
