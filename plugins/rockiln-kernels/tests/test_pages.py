"""docs/ says what the code does: op pages as the specs make them, every flag, every field of a manifest."""

from __future__ import annotations

import argparse
import dataclasses
import re
from pathlib import Path

import pytest

from rockiln_kernels.cli import make_parser
from rockiln_kernels.pack import manifest
from rockiln_kernels.pages import make_pages
from rockiln_kernels.table import read_table

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", sorted(make_pages()))
def test_op_pages_are_those_the_specs_make(name: str) -> None:
    assert (DOCS / "ops" / name).read_text(encoding="utf-8") == make_pages()[name], (
        "run python -m rockiln_kernels.pages docs/ops"
    )


def test_no_page_of_a_former_op_is_left() -> None:
    assert {path.name for path in (DOCS / "ops").glob("*.md")} == set(make_pages())


def test_the_index_names_every_op() -> None:
    index = make_pages()["index.md"]
    assert not [op for op in read_table() if f"[{op}]" not in index]


def test_every_flag_is_documented() -> None:
    pages = [(DOCS / name).read_text(encoding="utf-8") for name in ("packs.md", "selection.md")]
    verbs = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for verb, parser in verbs.choices.items():
        page = next((page for page in pages if f"rockiln-kernels {verb}" in page), "")
        assert page, verb
        flags = {flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")}
        assert not [flag for flag in flags - {"--help"} if not re.search(rf"[`\[ ]{flag}\b", page)], verb


@pytest.mark.parametrize(
    "entry",
    [manifest.Manifest, manifest.KernelEntry, manifest.ArgumentEntry, manifest.VariantEntry, manifest.AbsentEntry],
)
def test_every_field_of_a_manifest_is_documented(entry: type) -> None:
    page = (DOCS / "packs.md").read_text(encoding="utf-8")
    assert not [field.name for field in dataclasses.fields(entry) if f"`{field.name}`" not in page]  # type: ignore[arg-type]
