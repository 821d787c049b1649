"""The cases notice when one instruction of a kernel is missing: 20 mutants an arch in CI, 200 in the nightly run.

The classes of equivalent mutants were fixed on other seeds; docs/kernels.md says which patterns were not.
"""

from __future__ import annotations

import pytest

from harness.equivalent import MNEMONICS
from harness.figures import hash_pack, keep_figure
from harness.mutate import build_sample, count_rates, describe, draw_mutants, try_mutant
from harness.rotation import NIGHTLY
from rockiln_kernels.archs import AMD_ARCHS, Arch

COUNT, SEED = (200, 20261130) if NIGHTLY else (20, 0)
LEAST_RATE = 0.85 if NIGHTLY else 0.6
"""Of mutants that are not equivalent. The aim is 0.9; twenty are too few to measure by."""


@pytest.mark.parametrize("arch", AMD_ARCHS, ids=lambda arch: arch.name)
def test_missing_instructions_are_noticed(arch: Arch) -> None:
    pack = build_sample(arch, COUNT, SEED)
    outcomes = [try_mutant(*drawn) for drawn in draw_mutants(pack, COUNT, SEED)]
    rates = count_rates(outcomes)
    missed = [outcome.mutant for outcome in outcomes if not outcome.noticed and not outcome.mutant.equivalent]
    keep_figure("mutation", arch.name, {**rates, **describe(outcomes), "sha256": hash_pack(pack), "seed": SEED})
    assert rates["rate"] >= LEAST_RATE, f"{rates}: {missed}"


def test_no_mnemonic_is_in_two_classes() -> None:
    names = [name for members in MNEMONICS.values() for name in members]
    assert len(names) == len(set(names))
