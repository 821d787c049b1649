"""docs/kernels.md says how loose the rule is: those figures, measured."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from harness.case import Array
from harness.judge import compute_reference, make_cases
from harness.support import PAGE
from harness.tolerance import allow_error
from rockiln_kernels.table import read_table

_ROW = re.compile(r"^\| (?:`(\w+)`)? ?\| (\w+) \| ([\d.]+) % \| ([\d.]+) % \|$", re.MULTILINE)


def _read_rows() -> Iterator[tuple[str, str, float, float]]:
    op = ""
    for named, output, median, share in _ROW.findall((PAGE.parent / "kernels.md").read_text(encoding="utf-8")):
        op = named or op
        yield op, output, float(median), float(share)


def _measure(op: str, output: str) -> Array:
    """Allowed error over |want|, of every number that is neither zero nor special."""
    spec = read_table()[op]
    cell = next(cell for cell in spec.cells if cell.startswith("bf16"))
    ratios = []
    for case in make_cases(op, cell):
        want = np.asarray(compute_reference(spec, cell, case)[output])
        allowed = np.broadcast_to(allow_error(want, "bf16", case.terms, case.magnitudes.get(output)), want.shape)
        is_plain = np.isfinite(want) & (want != 0.0) & np.isfinite(allowed)
        ratios.append(allowed[is_plain] / np.abs(want[is_plain]))
    return np.concatenate(ratios)


def test_the_page_has_such_rows() -> None:
    assert {op for op, *_ in _read_rows()} >= {"gemm", "attention_prefill_backward", "mla_decode", "fused_moe"}


@pytest.mark.parametrize(("op", "output", "median", "share"), list(_read_rows()))
def test_figures_of_how_loose_the_rule_is(op: str, output: str, median: float, share: float) -> None:
    ratios = _measure(op, output)
    assert 100.0 * np.median(ratios) == pytest.approx(median, rel=0.05, abs=0.05)
    assert 100.0 * np.mean(ratios >= 1.0) == pytest.approx(share, abs=0.06)
