"""Difference → text for people: the sums, then what grew most of each kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rockiln.amounts import format_bytes, format_growth
from rockiln.console import printable
from rockiln.sizes.check_budget import describe_change
from rockiln.sizes.difference import Change, Difference

SHOWN = 20


def describe_difference(difference: Difference) -> str:
    """Several paragraphs; what is equal is not mentioned."""
    return "\n".join(_list_lines(difference))


def _list_lines(difference: Difference) -> Iterator[str]:
    yield printable(f"{difference.old} → {difference.new}")
    for change in (difference.compressed, difference.unpacked):
        if change.before_bytes and change.after_bytes:
            before, after = format_bytes(change.before_bytes), format_bytes(change.after_bytes)
            yield f"{format_growth(change.growth):>10}  {change.name}: {before} → {after}"
    yield from _describe_layers(difference)
    yield from _describe_part("packages", difference.packages)
    yield from _describe_part("archs", difference.archs)
    yield from _describe_part("kinds", difference.kinds)
    yield from describe_ops(difference)
    yield from describe_smoke(difference)
    if difference.files is None:
        yield "files: not told by a published image; `docker pull` it and give docker:NAME to compare them"
    else:
        yield from _describe_part("files", difference.files)


def describe_ops(difference: Difference) -> Iterator[str]:
    """Ops that came or went, then those whose number of kernels differs."""
    came = [one.name for one in difference.ops if one.before is None]
    went = [one.name for one in difference.ops if one.after is None]
    moved = [f"{one.name} {one.before} → {one.after}" for one in difference.ops if None not in {one.before, one.after}]
    for title, names in (("ops that came", came), ("ops that went", went), ("variants of ops", moved)):
        if names:
            yield f"{title}: {', '.join(names)}"


def describe_smoke(difference: Difference) -> Iterator[str]:
    """Seconds of two runs, maybe on two machines: a factor of two says something, a tenth does not."""
    for one in difference.smoke:
        before, after = ("not smoked" if value is None else f"{value:.1f} s" for value in (one.before, one.after))
        yield f"smoke, tier {one.name}: {before} → {after}"


def _describe_layers(difference: Difference) -> Iterator[str]:
    kept = sum(layer.compressed_bytes for layer in difference.shared_layers)
    pulled = sum(layer.compressed_bytes for layer in difference.new_layers)
    size = f", {format_bytes(kept)}" if kept else ""
    yield f"layers: {len(difference.shared_layers)} shared{size}; {len(difference.new_layers)} to pull" + (
        f", {format_bytes(pulled)}" if pulled else ""
    )
    for sign, layers in (("-", difference.old_layers), ("+", difference.new_layers)):
        for layer in layers:
            size_bytes = layer.compressed_bytes or layer.unpacked_bytes
            yield f"{sign + format_bytes(size_bytes):>10}  {printable(layer.title)}"


def _describe_part(title: str, changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        return
    counts = [(what, sum(change.what == what for change in changes)) for what in ("added", "removed", "changed")]
    yield f"{title}: {', '.join(f'{count} {what}' for what, count in counts if count)}"
    shown = sorted(changes, key=lambda change: (-abs(change.growth), change.name))[:SHOWN]
    yield from (describe_change(change) for change in sorted(shown, key=lambda change: (-change.growth, change.name)))
    if len(changes) > SHOWN:
        yield f"{'':>10}  and {len(changes) - SHOWN} more with less growth; --json lists all"
