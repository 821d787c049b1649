"""The support table: of current sources, covering the wanted table, without a fault, and the page that docs/ shows."""

from __future__ import annotations

import pytest

from harness.inputs import hash_inputs, list_inputs
from harness.support import PAGE, RECORDS, make_page, read_records
from rockiln_kernels.table import read_families, read_origins
from rockiln_kernels.wanted_table import read_wishes

RECORD_NAMES = sorted(path.stem for path in RECORDS.glob("*.json"))


def test_the_page_is_made_of_the_records() -> None:
    assert PAGE.read_text(encoding="utf-8") == make_page(read_records()), "run nox -s support"


@pytest.mark.parametrize("family", RECORD_NAMES)
def test_a_record_is_of_the_current_sources(family: str) -> None:
    assert read_records()[family]["inputs"] == hash_inputs(family), f"run nox -s support -- {family}"


@pytest.mark.parametrize("family", RECORD_NAMES)
def test_every_wanted_cell_passed(family: str) -> None:
    cells = read_records()[family]["cells"]
    wanted = [wish for wish in read_wishes() if read_origins()[wish.op] == family and not wish.gap]
    names = {f"{wish.op}/{wish.arch}/{wish.cell}" for wish in wanted}
    assert set(cells) == names
    assert not [name for name in names if cells[name]["faults"] or not cells[name]["variants"]]


def test_inputs_follow_imports() -> None:
    names = {path.name for path in list_inputs("swiglu_and_mul")}
    assert {"gates.py", "narrow.py", "blocks.py", "silu_and_mul.toml", "row_cases.py", "spec.py"} <= names
    assert "quant_fp8.py" not in names


def test_every_record_is_of_a_family() -> None:
    assert set(RECORD_NAMES) <= set(read_families())
