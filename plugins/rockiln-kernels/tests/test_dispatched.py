"""Every family's calls by the dispatcher, through a fake HIP into gfxemu: the bytes that gfxemu alone computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_hip.dispatching import install_over, run_case
from fake_hip.machine import FakeHip
from harness.case import Case
from harness.execute import Prepared, describe_call, execute, prepare
from harness.family_pack import build_family
from harness.judge import make_cases
from harness.rotation import read_rotation
from rockiln_kernels.archs import AMD_ARCHS, Arch
from rockiln_kernels.dispatch import Dispatcher
from rockiln_kernels.pack.build import Pack, write_pack
from rockiln_kernels.table import read_families, read_table


def _pick_arch(family: str) -> Arch:
    return AMD_ARCHS[(read_rotation() + 3 + read_families().index(family)) % len(AMD_ARCHS)]


@pytest.mark.parametrize("family", read_families())
def test_dispatched_bytes_are_the_emulated_ones(family: str, tmp_path: Path) -> None:
    arch = _pick_arch(family)
    pack = build_family(family, arch)
    if not pack.manifest.variants:
        pytest.skip(f"absent from the pack: {pack.manifest.absent[0].reason}")
    write_pack(pack, tmp_path / "pack")
    hip = FakeHip(arch.name)
    with install_over(hip, {arch.name: tmp_path / "pack"}) as dispatcher:
        for op, cell in dict.fromkeys((item.op, item.cell) for item in pack.manifest.variants):
            _compare(dispatcher, hip, pack, op, cell)
    assert hip.count("launches") >= len(pack.manifest.variants)


def _compare(dispatcher: Dispatcher, hip: FakeHip, pack: Pack, op: str, cell: str) -> None:
    """The first case that the planner gives to a variant, on both ways."""
    spec = read_table()[op]
    case, prepared = next(
        (case, found) for case in make_cases(op, cell) if (found := _prepare_planned(dispatcher, pack, op, cell, case))
    )
    expected = execute(prepared, case, pack)
    got = run_case(dispatcher, hip, spec, cell, case)
    for name, array in expected.items():
        assert got[name].tobytes() == array.tobytes(), f"{op} {cell}, {case.name}: {name}"


def _prepare_planned(dispatcher: Dispatcher, pack: Pack, op: str, cell: str, case: Case) -> Prepared | None:
    """The case bound to the variant that selection chooses; None where it chooses none."""
    spec = read_table()[op]
    plan = dispatcher.planner.make_plan(describe_call(spec, cell, case), pack.manifest.arch)
    if plan.kernel is None or case.is_misaligned:
        return None
    variant = next(item for item in pack.manifest.variants if item.key == plan.kernel)
    prepared = prepare(spec, cell, case, pack, variant)
    assert isinstance(prepared, Prepared)
    return prepared
