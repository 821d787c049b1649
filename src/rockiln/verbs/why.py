"""rockiln why: a target and a path → who brought it, which layer holds it, or which rule dropped it."""

from __future__ import annotations

import argparse
import posixpath
from typing import Any

from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.verbs.answer import Answer
from rockiln.verbs.show import read_stage_value, select_one

Record = dict[str, object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET, PATH, --json."""
    parser.add_argument("target", metavar="TARGET", help="target id, or a glob that names one")
    parser.add_argument("path", metavar="PATH", help="a path inside the image")
    parser.add_argument("--json", action="store_true", help="print the value itself as JSON")


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Look the path up in the values of the last build, through the links that lead to it."""
    target_id = select_one(args.target, invocation)
    rootfs: Record = read_stage_value(target_id, "rootfs", invocation)  # type: ignore[assignment]  # a Rootfs
    entries: dict[str, list[object]] = rootfs["entries"]  # type: ignore[assignment]
    path = _follow_folders(args.path.strip("/"), entries)
    value = _find_entry(path, entries, target_id, invocation) or _find_dropped(path, target_id, invocation)
    if value is None:
        raise UsageError(f"{target_id} holds no /{path}, and no rule dropped it", hint=_suggest(path, entries))
    value |= _find_slimmed(path, target_id, invocation)
    return Answer(text=_describe(value), value=value)


def _find_entry(
    path: str, entries: dict[str, list[object]], target_id: str, invocation: Invocation
) -> Record | None:
    entry = entries.get(path)
    if entry is None:
        return None
    owner = str(entry[8])
    layers: list[Record] = read_stage_value(target_id, "layers", invocation)  # type: ignore[assignment]
    layer = next((item["title"] for item in layers if owner in item["owners"]), "")  # type: ignore[operator]
    return {"path": path, "kind": entry[1], "size_bytes": entry[5], "link": entry[7], "owner": owner, "layer": layer}


def _find_dropped(path: str, target_id: str, invocation: Invocation) -> Record | None:
    dropped: list[Record] = read_stage_value(target_id, "dropped", invocation)  # type: ignore[assignment]
    return next((item for item in dropped if item["path"] == path), None)


def _find_slimmed(path: str, target_id: str, invocation: Invocation) -> Record:
    """What became of its code for GPUs, and the rule by which it is a link; nothing where neither is so."""
    slimmed: dict[str, list[Record]] = read_stage_value(target_id, "slimmed", invocation)  # type: ignore[assignment]
    file = next((item for item in slimmed["files"] if item["path"] == path), None)
    shared = next((item for item in slimmed["shared"] if item["path"] == path), None)
    return {name: item for name, item in (("code", file), ("shared", shared)) if item}


def _follow_folders(path: str, entries: dict[str, list[object]]) -> str:
    """/bin/ls → usr/bin/ls: links among the parent folders are followed, the last name is not."""
    resolved = ""
    for name in path.split("/"):
        entry = entries.get(resolved)
        if entry is not None and entry[1] == "symlink":
            link = str(entry[7])
            resolved = posixpath.normpath(posixpath.join("/", posixpath.dirname(resolved), link)).strip("/")
        resolved = f"{resolved}/{name}".strip("/")
    return resolved


def _suggest(path: str, entries: dict[str, list[object]]) -> str:
    name = posixpath.basename(path)
    similar = sorted(other for other in entries if posixpath.basename(other) == name)[:3]
    return f"there is /{', /'.join(similar)}" if similar else "rockiln show TARGET rootfs lists every path"


def _describe(value: Record) -> str:
    lines = [_describe_place(value)]
    if "code" in value:
        lines.append(_describe_code(value["code"]))  # type: ignore[arg-type]  # a SlimmedFile
    if "shared" in value:
        shared: Record = value["shared"]  # type: ignore[assignment]  # a SharedFile
        lines.append(f"  equal to /{shared['link']}: a link by rule {shared['rule']!r} ({shared['size_bytes']} bytes)")
    return "\n".join(lines)


def _describe_place(value: Record) -> str:
    if "rule" in value:
        return f"/{value['path']}: dropped by rule {value['rule']!r} ({value['size_bytes']} bytes of {value['owner']})"
    link = f" -> {value['link']}" if value["link"] else ""
    return f"/{value['path']}{link}: {value['kind']} of {value['owner']}, in layer {value['layer']!r}"


def _describe_code(file: dict[str, Any]) -> str:
    reason = f": {file['reason']}" if file["reason"] else ""
    if file["outcome"] == "dropped":
        return f"  {file['rule']} data for {', '.join(file['dropped'])}{reason}"
    if file["outcome"] == "slimmed":
        gone = f"{file['before_bytes']} → {file['after_bytes']} bytes, without {', '.join(file['dropped'])}"
        return f"  {file['rule']}: {gone}; keeps {', '.join(file['kept'])}"
    verb = "left alone" if file["outcome"] == "refused" else "unchanged"
    return f"  {file['rule']}: {verb}{reason or ', keeps ' + ', '.join(file['kept'])}"
