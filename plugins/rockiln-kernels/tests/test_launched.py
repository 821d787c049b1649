"""Every family's kernels by librockiln through a fake HIP into gfxemu: the bytes that gfxemu alone computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_hip.machine import FakeHip, LaunchedMachine
from harness.execute import execute, execute_on, prepare
from harness.family_pack import build_family
from harness.judge import make_cases
from harness.rotation import read_rotation
from rockiln_kernels.archs import AMD_ARCHS, Arch
from rockiln_kernels.call import Rejected
from rockiln_kernels.pack.build import write_pack
from rockiln_kernels.table import read_families, read_table


def _pick_arch(family: str) -> Arch:
    return AMD_ARCHS[(read_rotation() + read_families().index(family)) % len(AMD_ARCHS)]


@pytest.mark.parametrize("family", read_families())
def test_launched_bytes_are_the_emulated_ones(family: str, tmp_path: Path) -> None:
    arch = _pick_arch(family)
    pack = build_family(family, arch)
    if not pack.manifest.variants:
        pytest.skip(f"absent from the pack: {pack.manifest.absent[0].reason}")
    write_pack(pack, tmp_path / "pack")
    machine = LaunchedMachine(FakeHip(arch.name), tmp_path / "pack")
    for variant in pack.manifest.variants:
        spec = read_table()[variant.op]
        cases = make_cases(variant.op, variant.cell)
        answers = [(case, prepare(spec, variant.cell, case, pack, variant)) for case in cases]
        case, prepared = next(item for item in answers if not isinstance(item[1], Rejected))
        assert not isinstance(prepared, Rejected)
        expected = execute(prepared, case, pack)
        got = execute_on(machine, prepared, case)
        machine.free()
        for name, array in expected.items():
            assert got[name].tobytes() == array.tobytes(), f"{variant.key}, {case.name}: {name}"
    assert machine.hip.count("launches") >= len(pack.manifest.variants)
