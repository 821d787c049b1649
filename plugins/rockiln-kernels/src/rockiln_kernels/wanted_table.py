"""wanted/NAME.toml → which op x arch x dtype cells a pack must hold, and the listed gaps."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

from rockiln_kernels.archs import AMD_ARCHS, Arch
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_families, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One cell: `gap` is empty when the pack must hold it, else why it does not."""

    op: str
    arch: str
    cell: str
    gap: str = ""


def read_wishes() -> tuple[Wish, ...]:
    """Every wanted cell of every op on every AMD arch, sorted by op, arch and cell; gaps carry their reason."""
    wishes = [wish for family in read_families() for wish in _read_family(family)]
    return tuple(sorted(wishes, key=lambda wish: (wish.op, wish.arch, wish.cell)))


def fits_arch(spec: OpSpec, cell: str, arch: Arch) -> bool:
    """False for a cell with the fp8 kind that `arch` does not use (fnuz is gfx942's, OCP all others')."""
    if spec.is_mx:
        return True
    other = {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz"} - set(arch.fp8)
    return not other & set(spec.cell_dtypes(cell).values())


def _read_family(family: str) -> Iterator[Wish]:
    text = resources.files("rockiln_kernels.wanted").joinpath(f"{family}.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    gaps = tables.get("gap", [])
    for row in tables["wanted"]:
        for spec in (read_table()[op] for op in row["ops"]):
            for arch in _pick_archs(row):
                for cell in row.get("cells", spec.cells):
                    if fits_arch(spec, cell, arch):
                        yield Wish(op=spec.name, arch=arch.name, cell=cell, gap=_find_gap(gaps, spec.name, arch, cell))


def _pick_archs(row: Mapping[str, list[str]]) -> tuple[Arch, ...]:
    return tuple(arch for arch in AMD_ARCHS if {"*", arch.name} & set(row["archs"]))


def _find_gap(gaps: list[Mapping[str, list[str] | str]], op: str, arch: Arch, cell: str) -> str:
    for gap in gaps:
        if op in gap["ops"] and {"*", arch.name} & set(gap["archs"]) and {"*", cell} & set(gap.get("cells", ["*"])):
            return str(gap["reason"])
    return ""
