"""OpSpecs → docs/ops/: a page a base op and an index. `python -m rockiln_kernels.pages DIR` writes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from rockiln_kernels.spec import ArraySpec, OpSpec
from rockiln_kernels.table import read_families, read_origins, read_table
from rockiln_kernels.wanted_table import Wish, read_wishes


def make_pages() -> Mapping[str, str]:
    """File name → text."""
    table, origins = read_table(), read_origins()
    pages = {"index.md": _make_index()}
    for family in read_families():
        specs = [spec for name, spec in table.items() if origins[name] == family]
        pages[f"{family}.md"] = "\n".join([f"# {family}\n", *(_make_section(spec) for spec in specs)])
    return pages


def _make_index() -> str:
    links = [(op, f"[{op}]({family}.md#{op})") for op, family in sorted(read_origins().items())]
    rows = [f"| {link} | {read_table()[op].summary} |" for op, link in links]
    head = ["# Ops", "", "Made from the specs; see [kernels](../kernels.md).", "", "| op | what |", "| --- | --- |"]
    return "\n".join([*head, *rows, ""])


def _make_section(spec: OpSpec) -> str:
    return "\n".join([f"## {spec.name}", "", spec.summary, "", *_list_parts(spec)])


def _list_parts(spec: OpSpec) -> Iterator[str]:
    yield "| array | | dims | dtype | layout |"
    yield "| --- | --- | --- | --- | --- |"
    yield from (_make_row(array, "in") for array in spec.inputs)
    yield from (_make_row(array, "out") for array in spec.outputs)
    yield ""
    for axis, members in spec.dtype_axes:
        yield f"- {axis}: {', '.join(members)}"
    for scalar in spec.scalars:
        default = "must be given" if scalar.default is None else f"{scalar.default} if not given"
        yield f"- {scalar.name}, {scalar.kind}: {default}"
    for constraint in spec.constraints:
        yield f"- `{constraint.formula}`, else: {constraint.reason}"
    if spec.mutates:
        yield f"- written in place: {', '.join(spec.mutates)}"
    if spec.gradient:
        yield f"- gradient: {spec.gradient.op}"
    if spec.source:
        yield f"- source: {spec.source}"
    yield from (f"- gap: {gap}" for gap in _list_gaps(spec))
    yield ""


def _make_row(array: ArraySpec, way: str) -> str:
    dims = f"[{'..., ' if array.folds_leading else ''}{', '.join(array.dims)}]"
    layout = "any stride between rows" if array.layout == "rows" else "contiguous"
    return f"| {array.name} | {way}{', optional' if array.optional else ''} | {dims} | {array.dtype} | {layout} |"


def _list_gaps(spec: OpSpec) -> list[str]:
    gaps: dict[str, list[Wish]] = {}
    for wish in read_wishes():
        if wish.op == spec.name and wish.gap:
            gaps.setdefault(wish.gap, []).append(wish)
    return [f"{_name_places(wishes)}: {reason}" for reason, wishes in gaps.items()]


def _name_places(wishes: list[Wish]) -> str:
    archs, cells = ({wish.arch for wish in wishes}, {wish.cell for wish in wishes})
    return f"{', '.join(sorted(archs))} for {', '.join(sorted(cells))}"


def write_pages(folder: Path) -> None:
    """Write every page, and remove those of ops that are no more."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = make_pages()
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
