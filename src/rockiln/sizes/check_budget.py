"""Sizes + Budget (+ an earlier image) → BudgetError that says what is too large and what grew, or None."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln.amounts import format_bytes, format_growth
from rockiln.budget import Budget
from rockiln.console import printable
from rockiln.errors import BudgetError
from rockiln.sizes.difference import Change, compare_packages
from rockiln.sizes.inventory import Sizes

GROWTHS = 10
HINT = (
    "`rockiln report TARGET` shows where the bytes are; leave something out ([[drop]], [[strip]], [[packages]]),"
    " or raise [[budget]] and then run `rockiln build --record-sizes TARGET`"
)


def check_budget(sizes: Sizes, budget: Budget, recipe: str, earlier: Sizes | None) -> BudgetError | None:
    """The fault, if there is one; with what grew since `earlier`, whose name says in words what it is, and the largest
    packages where less grew than is too much."""
    exceeded = tuple(_find_exceeded(sizes, budget))
    if not exceeded:
        return None
    lines = (_describe_excess(*row) for row in exceeded)
    message = "\n  ".join((f"{sizes.name}: larger than the budget of images/{recipe}/image.toml", *lines))
    growths = [change for change in compare_packages(earlier, sizes) if change.growth > 0] if earlier else []
    if earlier and growths:
        listed = map(describe_change, growths[:GROWTHS])
        message = "\n  ".join((f"{message}\nlargest growths since {earlier.name}:", *listed))
    if sum(change.growth for change in growths) < max(size_bytes - ceiling for _, size_bytes, ceiling in exceeded):
        message = "\n  ".join((f"{message}\nlargest packages:", *_list_largest(sizes)))
    return BudgetError(message, hint=HINT)


def _find_exceeded(sizes: Sizes, budget: Budget) -> Iterator[tuple[str, int, int]]:
    """What is too large, its bytes, its ceiling."""
    ceilings = {owner: ceiling for owner, ceiling in sorted(budget.packages.items()) if owner in sizes.packages}
    rows = (
        ("compressed", sizes.compressed_bytes, budget.compressed_bytes),
        ("unpacked", sizes.unpacked_bytes, budget.unpacked_bytes),
        *((f"{owner}, unpacked", sizes.packages[owner].size_bytes, ceiling) for owner, ceiling in ceilings.items()),
    )
    for what, size_bytes, ceiling in rows:
        if ceiling is not None and size_bytes > ceiling:
            yield what, size_bytes, ceiling


def _describe_excess(what: str, size_bytes: int, ceiling: int) -> str:
    over = format_bytes(size_bytes - ceiling)
    return f"{what}: {format_bytes(size_bytes)}, {format_bytes(ceiling)} allowed, {over} too much"


def describe_change(change: Change) -> str:
    """ "+12.1 MB  wheel:scipy 1.15.1 → 1.16.0"."""
    versions = [change.before_version, change.after_version]
    words = {"added": f"{versions[1]} is new", "removed": f"{versions[0]} is gone"}
    moved = " → ".join(dict.fromkeys(version for version in versions if version))
    said = printable(f"{change.name} {words.get(change.what, moved).strip()}")
    return f"{format_growth(change.growth):>10}  {said}".rstrip()


def _list_largest(sizes: Sizes) -> list[str]:
    largest = sorted(sizes.packages.items(), key=lambda item: (-item[1].size_bytes, item[0]))
    rows = [(found.size_bytes, printable(f"{owner} {found.version}")) for owner, found in largest[:GROWTHS]]
    return [f"{format_bytes(size_bytes):>10}  {said}" for size_bytes, said in rows]
