"""The cases notice when one instruction of a kernel is missing: 20 mutants an arch in CI, 200 in the nightly run.

Classes of equivalent mutants were fixed on other seeds, before the mutants of this one were drawn.
"""

from __future__ import annotations

import pytest

from harness.figures import hash_pack, keep_figure
from harness.mutate import build_sample, count_rates, describe, draw_mutants, list_wrong_proofs, try_mutant
from harness.rotation import NIGHTLY
from rockiln_kernels.archs import AMD_ARCHS, Arch

COUNT, SEED = (200, 26150303) if NIGHTLY else (20, 0)
PACK_SEED = 20261201 if NIGHTLY else 0
"""Picks the variants."""
LEAST_RATE = 0.9 if NIGHTLY else 0.6
"""Of mutants that are not equivalent; twenty are too few to measure by."""


@pytest.mark.parametrize("arch", AMD_ARCHS, ids=lambda arch: arch.name)
def test_missing_instructions_are_noticed(arch: Arch) -> None:
    pack = build_sample(arch, COUNT, PACK_SEED)
    outcomes = [try_mutant(drawn) for drawn in draw_mutants(pack, COUNT, SEED)]
    rates = count_rates(outcomes)
    missed = [outcome.mutant for outcome in outcomes if not outcome.noticed and not outcome.mutant.equivalent]
    keep_figure("mutation", arch.name, {**rates, **describe(outcomes), "sha256": hash_pack(pack), "seed": SEED})
    assert not list_wrong_proofs(outcomes)
    assert rates["rate"] >= LEAST_RATE, f"{rates}: {missed}"
