"""The support table: of current sources, covering the wanted table, without a fault, and the page that docs/ shows."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from harness.inputs import DERIVED, TESTS, hash_derived, hash_inputs, list_derived, list_inputs
from harness.judge import make_cases
from harness.support import PAGE, RECORDS, list_failed, make_page, read_records
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_families, read_origins, read_table
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
    assert not list_failed(read_records()[family])


def test_a_cell_without_a_variant_fails_as_one_with_a_fault_does() -> None:
    cells = {
        "good": {"variants": 2, "faults": []},
        "wrong": {"variants": 2, "faults": ["block256, ones: off by 2"]},
        "absent": {"variants": 0, "faults": []},
    }
    assert list_failed({"cells": cells}) == ["wrong", "absent"]


def test_inputs_follow_imports() -> None:
    names = {path.name for path in list_inputs("swiglu_and_mul")}
    assert {"gates.py", "narrow.py", "blocks.py", "silu_and_mul.toml", "row_cases.py", "spec.py"} <= names
    assert "call.py" not in names, "how a call is checked makes no record stale: no kernel depends on it"
    assert "quant_fp8.py" not in names


def test_the_rule_of_what_is_right_makes_records_stale_wherever_the_checkout_lies() -> None:
    for family in RECORD_NAMES:
        names = [f"{path.parent.name}/{path.name}" for path in list_inputs(family)]
        assert {"harness/compare.py", "harness/tolerance.py"} <= set(names)
        assert names == sorted(names)


def test_the_page_names_the_emulator_of_every_record() -> None:
    record = {**read_records()["rope"], "emulator": "0123456789abcdef" * 4}
    assert "\n- rope: gfxemu 0.1.0, 0123456789ab\n" in make_page({**read_records(), "rope": record})


def test_every_record_is_of_a_family() -> None:
    assert set(RECORD_NAMES) <= set(read_families())


def test_a_record_without_the_newest_cases_is_said_to_be() -> None:
    records = dict(read_records())
    family = RECORD_NAMES[0]
    listed = "\n## Made before the newest derived cases\n"
    for derived in ("", hash_derived(family)):
        records[family] = {**records[family], "derived": derived}
        section = make_page(records).partition(listed)[2].partition("\n## ")[0]
        assert (f"- {family}\n" in section) == (not derived)


def test_every_module_of_derived_cases_counts_for_some_families() -> None:
    names = {path.stem for path in (TESTS / "harness").glob("derived_*.py")}
    assert names == set(DERIVED)
    own = {"derived", "derived_experts", "derived_products", "derived_specials"}
    assert {path.stem for path in list_derived("fused_moe")} == own
    assert hash_derived("rope") != hash_derived("gemm") != hash_derived("fused_moe")


@pytest.mark.parametrize("spec", read_table().values(), ids=lambda spec: spec.name)
def test_a_module_of_derived_cases_makes_none_for_other_ops(spec: OpSpec) -> None:
    cell = spec.cells[0]
    own = make_cases(spec.name, cell)
    for name, words in DERIVED.items():
        if not any(word in spec.name for word in words):
            derive = getattr(import_module(f"harness.{name}"), name.replace("derived", "derive"))
            given = (spec, cell) if name == "derived_brink" else (spec, cell, own)
            assert not list(derive(*given)), name


def test_words_of_a_refusal_are_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "specs" / "own.py"
    source.parent.mkdir()
    monkeypatch.setattr("harness.inputs.list_inputs", lambda _family: (source,))

    def hash_with(text: str) -> str:
        source.write_text(text, encoding="utf-8")
        return hash_inputs("own")

    first = hash_with('if x > 1:\n    raise ValueError(f"ä {x}")\ny = "a"\n')
    assert hash_with('if x > 1:\n    raise ValueError(\n        "another"\n    )\ny = "a"\n') == first
    assert hash_with('if x > 2:\n    raise ValueError(f"ä {x}")\ny = "a"\n') != first
    assert hash_with('if x > 1:\n    raise TypeError(f"ä {x}")\ny = "a"\n') != first
    assert hash_with('if x > 1:\n    raise ValueError(f"ä {x}")\ny = "b"\n') != first
