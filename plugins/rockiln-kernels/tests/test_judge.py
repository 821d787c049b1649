"""The cases of a cell and what the reference gives for them: made once for all variants, and archs in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness import judge
from harness.case import Array, Case
from harness.judge import compute_reference, judge_cell, list_examples
from harness.results import ResultCache
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.pack.build import build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import make_family_variants


def test_variants_and_archs_share_what_the_reference_gives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def count(spec: OpSpec, cell: str, case: Case) -> Mapping[str, Array]:
        asked[case.name] += 1
        return compute_reference(spec, cell, case)

    monkeypatch.setattr(judge, "compute_reference", count)
    list_examples.cache_clear()
    findings = []
    for number, name in enumerate(("gfx942", "gfx1100")):
        monkeypatch.setattr(
            judge,
            "find_results",
            lambda own=tmp_path / str(number): ResultCache(folder=own),
        )
        variants = [item for item in make_family_variants("silu_and_mul", ARCHS[name]) if item.op == "silu_and_mul"]
        chosen = [item for item in variants if item.cell == "bf16"]
        pack = build_pack(
            ARCHS[name],
            chosen,
            find_toolchain(),
            CompileCache(folder=find_cache_folder()),
            jobs=1,
        )
        findings += judge_cell(pack, "silu_and_mul", "bf16")
    list_examples.cache_clear()
    assert not [item for item in findings if item.fault]
    assert len(findings) > 2 * len(asked) > 20
    assert set(asked.values()) == {1}
