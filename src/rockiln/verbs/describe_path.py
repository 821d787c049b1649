"""What is known of a path in an image, as a record → lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rockiln.amounts import format_bytes
from rockiln.console import printable

Record = Mapping[str, Any]


def describe_path(value: Record) -> str:
    """The path and who brought it; then, if there is something to say: layer, archs, what was cut, findings."""
    return "\n".join(map(printable, (_describe_place(value), *_describe_more(value))))


def _describe_place(value: Record) -> str:
    if not value["path"]:
        return "/: the whole image"
    if "rule" in value:
        size = format_bytes(value["size_bytes"])
        return f"/{value['path']}: dropped by rule {value['rule']!r} ({size} of {value['owner']})"
    link = f" -> {value['link']}" if value["link"] else ""
    owner = f"{value['owner']} {value['version']}".rstrip()
    return f"/{value['path']}{link}: {value['kind']} of {owner}, in layer {value['layer']!r}"


def _describe_more(value: Record) -> Iterator[str]:
    if value.get("file_kind"):
        yield f"  {format_bytes(value['size_bytes'])} ({value['size_bytes']} bytes), {value['file_kind']}"
    if value.get("below"):
        below = value["below"]
        noun = "paths" if "rule" in value else "files"
        yield f"  {format_bytes(below['size_bytes'])} in {below['files']} {noun} below"
    if value.get("archs"):
        host = value["size_bytes"] - sum(value["archs"].values())
        yield f"  code for {_list_sizes(value['archs'])}; the rest {format_bytes(host)}"
    if "stripped" in value:
        cut = value["stripped"]
        sizes = f"{format_bytes(cut['before_bytes'])} → {format_bytes(cut['after_bytes'])}"
        yield f"  stripped by rule {cut['rule']!r}: {sizes}, without symbol and debug tables"
    if "code" in value:
        yield _describe_code(value["code"])
    if "shared" in value:
        shared = value["shared"]
        size = format_bytes(shared["size_bytes"])
        yield f"  equal to /{shared['link']}: a link by rule {shared['rule']!r} ({size})"
    for finding in value.get("findings", ()):
        reason = f" ({finding['reason']})" if finding["reason"] else f"; {finding['remedy']}"
        yield f"  {finding['severity']} {finding['rule']}: {finding['evidence']}{reason}"


def _describe_code(file: Record) -> str:
    """What became of its code for other GPUs."""
    reason = f": {file['reason']}" if file["reason"] else ""
    if file["outcome"] == "dropped":
        return f"  {file['rule']} data for {', '.join(file['dropped'])}{reason}"
    if file["outcome"] == "slimmed":
        sizes = f"{format_bytes(file['before_bytes'])} → {format_bytes(file['after_bytes'])}"
        return f"  {file['rule']}: {sizes}, without {_list_sizes(file['dropped'])}"
    verb = "left alone" if file["outcome"] == "refused" else "unchanged"
    return f"  {file['rule']}: {verb}{reason or ', keeps ' + ', '.join(file['kept'])}"


def _list_sizes(targets: Mapping[str, int]) -> str:
    return ", ".join(f"{target} {format_bytes(size)}" for target, size in targets.items())
