"""[[budget]] of a recipe → Budget: how large an image may be. docs/sizes.md says what happens past it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rockiln.tables import Table, quote

MB = 1_000_000
"""Decimal, as registries count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Ceilings; None is no ceiling."""

    compressed_bytes: int | None = None
    unpacked_bytes: int | None = None
    packages: Mapping[str, int] = field(default_factory=dict)
    """Owner ("wheel:jaxlib") → unpacked bytes."""


def read_budget(table: Table) -> Budget:
    """The keys of one section, but for `when`; faults are noted in the table."""
    packages = table.number_map("packages-mb")
    ceilings = table.table("packages-mb")
    for owner, amount in packages.items():
        if owner.partition(":")[0] not in {"deb", "wheel"} and owner != "rockiln":
            ceilings.fault(owner, f'{quote(owner)} is no owner; write "wheel:NAME" or "deb:NAME"')
        _require_one(ceilings, owner, amount)
    table.text("why", "")
    return Budget(
        compressed_bytes=_read_ceiling(table, "compressed-mb"),
        unpacked_bytes=_read_ceiling(table, "unpacked-mb"),
        packages={owner: amount * MB for owner, amount in packages.items()},
    )


def _read_ceiling(table: Table, key: str) -> int | None:
    amount = table.number(key, 0)
    _require_one(table, key, amount)
    return amount * MB if key in table else None


def _require_one(table: Table, key: str, amount: int) -> None:
    if table.has(key, int) and amount < 1:
        table.fault(key, f"{amount} is no ceiling; it is megabytes, at least 1")


def merge_budgets(budgets: Iterable[Budget]) -> Budget:
    """One value for each ceiling: the last that is given."""
    merged = Budget()
    for budget in budgets:
        merged = Budget(
            compressed_bytes=budget.compressed_bytes or merged.compressed_bytes,
            unpacked_bytes=budget.unpacked_bytes or merged.unpacked_bytes,
            packages={**merged.packages, **budget.packages},
        )
    return merged
