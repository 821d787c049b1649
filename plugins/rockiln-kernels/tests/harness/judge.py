"""One cell of the support table → Verdict: every variant on every case that it takes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from harness.case import Array, Case
from harness.compare import find_differences
from harness.derived import derive_cases
from harness.execute import Prepared, execute, prepare
from harness.results import find_results, make_key
from rockiln_kernels.pack.build import Pack
from rockiln_kernels.pack.manifest import VariantEntry
from rockiln_kernels.spec import OpSpec, Rejected
from rockiln_kernels.table import read_origins, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one variant did on one case; `fault` is empty when it was right."""

    variant: str
    case: str
    fault: str


def make_cases(op: str, cell: str) -> Sequence[Case]:
    """The cases of cases/FAMILY.py."""
    cases: Sequence[Case] = import_module(f"cases.{read_origins()[op]}").make_cases(read_table()[op], cell)
    return cases


def list_emulated_cases(op: str, cell: str) -> Sequence[Case]:
    """Those, and what only an emulator runs."""
    cases = make_cases(op, cell)
    return [*cases, *derive_cases(read_table()[op], cell, cases)]


def compute_reference(spec: OpSpec, cell: str, case: Case) -> Mapping[str, Array]:
    """The float64 reference's outputs, its leading dims as they are."""
    family = import_module(f"rockiln_kernels.references.{read_origins()[spec.name]}")
    scalars: dict[str, Any] = {scalar.name: scalar.default for scalar in spec.scalars}
    scalars |= dict(case.scalars) | spec.cell_dtypes(cell)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        result: Mapping[str, Array] = family.REFERENCES[spec.name](case.arrays, scalars)
    return result


def judge_variant(pack: Pack, variant: VariantEntry, case: Case) -> Finding | None:
    """Run one variant on one case; None where it cannot take it. A fault of the emulator is a finding, too."""
    spec = read_table()[variant.op]
    prepared = prepare(spec, variant.cell, case, pack, variant)
    if isinstance(prepared, Rejected):
        return None
    results, key = find_results(), make_key(pack, variant, case)
    fault = "" if results.has_passed(key) else _find_fault(spec, prepared, case, pack)
    if not fault:
        results.keep_pass(key)
    return Finding(variant=variant.key, case=case.name, fault=fault)


def _find_fault(spec: OpSpec, prepared: Prepared, case: Case, pack: Pack) -> str:
    import gfxemu

    try:
        got = execute(prepared, case, pack)
    except gfxemu.Fault as fault:
        return f"{type(fault).__name__}: {fault}"
    cell = prepared.accepted.cell
    return "; ".join(find_differences(spec, cell, case, got, compute_reference(spec, cell, case)))


def judge_cell(pack: Pack, op: str, cell: str) -> tuple[Finding, ...]:
    """Every variant of a cell on every case it takes. A variant that takes none is a finding with a fault."""
    findings: list[Finding] = []
    cases = list_emulated_cases(op, cell)
    for variant in pack.manifest.variants:
        if (variant.op, variant.cell) == (op, cell):
            found = [finding for case in cases if (finding := judge_variant(pack, variant, case))]
            findings += found or [Finding(variant=variant.key, case="none", fault="no case exercises this variant")]
    return tuple(findings)
