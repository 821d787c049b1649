"""Difference → Markdown for the notes of a release: size, packages, GPUs, ops, smoke."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rockiln.amounts import format_bytes, format_growth
from rockiln.console import printable
from rockiln.sizes.describe_difference import describe_ops, describe_smoke
from rockiln.sizes.difference import Change, Difference


def describe_release(difference: Difference) -> str:
    """What who pulls the new image after the old one gets; what is equal is not mentioned."""
    return "\n".join(_list_lines(difference)) + "\n"


def _list_lines(difference: Difference) -> Iterator[str]:
    yield f"## {_escape(difference.new)}, compared with {_escape(difference.old)}"
    yield ""
    yield "| | before | after | |"
    yield "| --- | --- | --- | --- |"
    for change in (difference.compressed, difference.unpacked):
        if change.before_bytes and change.after_bytes:
            sizes = f"{format_bytes(change.before_bytes)} | {format_bytes(change.after_bytes)}"
            yield f"| {change.name} | {sizes} | {format_growth(change.growth)} |"
    pulled = sum(layer.compressed_bytes for layer in difference.new_layers)
    yield f"| to pull | | {format_bytes(pulled)} | {len(difference.new_layers)} layers, {_count_shared(difference)} |"
    yield from _list_packages(difference.packages)
    yield from _list_archs(difference.archs)
    told = [f"- {_escape(line)}" for line in (*describe_ops(difference), *describe_smoke(difference))]
    yield from ("", *told) if told else ()


def _count_shared(difference: Difference) -> str:
    return f"{len(difference.shared_layers)} shared"


def _list_packages(changes: Sequence[Change]) -> Iterator[str]:
    """New versions first: a change of size alone is no news."""
    rows = [change for change in changes if change.what != "changed" or change.before_version != change.after_version]
    if rows:
        yield ""
        yield "| package | before | after | size |"
        yield "| --- | --- | --- | --- |"
    for change in sorted(rows, key=lambda change: change.name):
        before, after = change.before_version or "-", change.after_version or "-"
        yield f"| {_escape(change.name)} | {_escape(before)} | {_escape(after)} | {format_growth(change.growth)} |"


def _list_archs(changes: Sequence[Change]) -> Iterator[str]:
    for what, title in (("added", "GPUs that came"), ("removed", "GPUs that went")):
        names = [change.name for change in changes if change.what == what and change.name != "host"]
        if names:
            yield ""
            yield f"{title}: {_escape(', '.join(names))}"


def _escape(text: str) -> str:
    """No name of a package ends a cell or opens markup."""
    return printable(text).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
