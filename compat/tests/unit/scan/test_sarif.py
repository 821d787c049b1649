"""SARIF: valid by models made from the official schema, and the same bytes twice."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifLog

from hipcompat.scan import Target, scan
from hipcompat.scan.report.sarif import format_sarif


def _make_tree(folder: Path) -> None:
    (folder / "k é.cu").write_bytes("void f() { nvmlInit(); /* é */ } // \udcff".encode("utf-8", "surrogateescape"))
    (folder / "b.cu").write_bytes(b"cuda\0")
    (folder / "m.py").write_text("import pynvml\n")
    cell = {"cell_type": "code", "source": "import pynvml"}
    (folder / "n.ipynb").write_text(json.dumps({"cells": [cell]}))


def test_sarif_is_valid(tmp_path: Path) -> None:
    _make_tree(tmp_path)
    text = format_sarif(scan([tmp_path], Target()))
    log = SarifLog.model_validate_json(text)
    run = log.runs[0]
    assert run.results is not None
    assert [result.ruleId for result in run.results] == ["nvml", "pynvml", "pynvml"]
    assert run.tool.driver.rules is not None
    assert [run.tool.driver.rules[result.ruleIndex or 0].id for result in run.results] == [
        "nvml", "pynvml", "pynvml",
    ]  # fmt: skip
    assert "k%20%C3%A9.cu" in text


def test_sarif_is_the_same_twice(tmp_path: Path) -> None:
    _make_tree(tmp_path)
    assert format_sarif(scan([tmp_path], Target())) == format_sarif(scan([tmp_path], Target()))


def test_nothing_found_is_valid_too(tmp_path: Path) -> None:
    assert SarifLog.model_validate_json(format_sarif(scan([tmp_path], Target()))).runs[0].results == []
