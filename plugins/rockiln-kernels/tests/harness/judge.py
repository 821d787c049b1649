"""One cell of the support table → Verdict: every variant on every case that it takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from harness.case import Array, Case
from harness.compare import find_differences
from harness.derived import derive_cases
from harness.derived_specials import derive_specials
from harness.execute import Prepared, execute, prepare
from harness.results import find_results, make_key
from rockiln_kernels.call import Rejected
from rockiln_kernels.pack.build import Pack
from rockiln_kernels.pack.manifest import VariantEntry
from rockiln_kernels.spec import OpSpec
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
    spec, own = read_table()[op], make_cases(op, cell)
    cases = [*own, *derive_cases(spec, cell, own)]
    return [*cases, *derive_specials(spec, cell, cases)]


def compute_reference(spec: OpSpec, cell: str, case: Case) -> Mapping[str, Array]:
    """The float64 reference's outputs, its leading dims as they are."""
    family = import_module(f"rockiln_kernels.references.{read_origins()[spec.name]}")
    scalars: dict[str, Any] = {scalar.name: scalar.default for scalar in spec.scalars}
    scalars |= dict(case.scalars) | spec.cell_dtypes(cell)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        result: Mapping[str, Array] = family.REFERENCES[spec.name](case.arrays, scalars)
    return result


class Examples:
    """The cases of one cell, and what the reference gives for each, computed when first asked for."""

    def __init__(self, op: str, cell: str) -> None:
        self.op, self.cell, self.cases = op, cell, list_emulated_cases(op, cell)
        self._wanted: dict[int, Mapping[str, Array]] = {}

    def want(self, place: int) -> Mapping[str, Array]:
        """The reference's outputs of case number `place`."""
        if place not in self._wanted:
            self._wanted[place] = compute_reference(read_table()[self.op], self.cell, self.cases[place])
        return self._wanted[place]


@lru_cache(maxsize=1)
def list_examples(op: str, cell: str) -> Examples:
    """One cell's, which its variants share, and archs that are judged one after the other."""
    return Examples(op, cell)


def judge_variant(
    pack: Pack, variant: VariantEntry, case: Case, want: Callable[[], Mapping[str, Array]] | None = None
) -> Finding | None:
    """Run one variant on one case; None where it cannot take it. A fault of the emulator is a finding, too.

    `want` gives the reference's outputs; without it they are computed.
    """
    spec = read_table()[variant.op]
    prepared = prepare(spec, variant.cell, case, pack, variant)
    if isinstance(prepared, Rejected):
        return None
    results, key = find_results(), make_key(pack, variant, case)
    want = want or partial(compute_reference, spec, variant.cell, case)
    fault = "" if results.has_passed(key) else _find_fault(prepared, case, pack, want)
    if not fault:
        results.keep_pass(key)
    return Finding(variant=variant.key, case=case.name, fault=fault)


def _find_fault(prepared: Prepared, case: Case, pack: Pack, want: Callable[[], Mapping[str, Array]]) -> str:
    import gfxemu

    try:
        got = execute(prepared, case, pack)
    except gfxemu.Fault as fault:
        return f"{type(fault).__name__}: {fault}"
    return "; ".join(find_differences(prepared.spec, prepared.accepted.cell, case, got, want()))


def judge_cell(pack: Pack, op: str, cell: str) -> tuple[Finding, ...]:
    """Every variant of a cell on every case it takes. A variant that takes none is a finding with a fault."""
    findings: list[Finding] = []
    examples = list_examples(op, cell)
    for variant in pack.manifest.variants:
        if (variant.op, variant.cell) == (op, cell):
            judged = (
                judge_variant(pack, variant, case, partial(examples.want, place))
                for place, case in enumerate(examples.cases)
            )
            found = [finding for finding in judged if finding]
            findings += found or [Finding(variant=variant.key, case="none", fault="no case exercises this variant")]
    return tuple(findings)
