"""Random shapes of every op through selection: an answer each time, and a reason each time the pack does not run it.

2,000 a family through selection; small ones are executed and compared, too: some in CI, 2,000 a family by night.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from harness.figures import keep_figure
from harness.judge import judge_variant, make_cases
from harness.rotation import NIGHTLY, read_rotation
from random_calls.calls import draw_call
from random_calls.planned import plan_manifest
from random_calls.shapes import SHAPES, replace_shapes
from rockiln_kernels.archs import AMD_ARCHS, Arch
from rockiln_kernels.bind import pack_kernarg
from rockiln_kernels.call import Call
from rockiln_kernels.pack.build import Pack, build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.selection import Host, InstalledPack, Selection, explain, supported
from rockiln_kernels.table import make_family_variants, read_families, read_origins, read_table

CALLS = 2000
EXECUTED, EXECUTED_SLOWLY = (2000, 500) if NIGHTLY else (100, 16)
"""Runs of a family, and of one whose runs take long: products, attention, experts."""
TRIES = 20
"""Draws of shapes for one cell, until there are runs enough."""


def _make_host(arch: str, *, emulated_ok: bool) -> Host:
    pack = InstalledPack(folder=Path("planned"), manifest=plan_manifest(arch), sha256="0" * 64)
    return Host(arch=arch, pack=pack, emulated_ok=emulated_ok)


@pytest.mark.parametrize("family", read_families())
def test_every_call_gets_an_answer_and_every_refusal_a_reason(family: str) -> None:
    specs = [read_table()[op] for op, origin in read_origins().items() if origin == family]
    random = Random(f"{family}/{read_rotation() if NIGHTLY else 0}")  # noqa: S311  # shapes, no secrets
    providers: Counter[str] = Counter()
    for number in range(CALLS):
        call = draw_call(specs[number % len(specs)], random)
        arch = AMD_ARCHS[number % len(AMD_ARCHS)].name
        selection = explain(call, _make_host(arch, emulated_ok=True))
        providers[selection.provider] += 1
        assert selection.reason
        assert all(item.reason and item.candidate for item in selection.rejected)
        if number % 5 == 0:
            _check_host(selection, call, _make_host(arch, emulated_ok=False))
    assert providers["pack"] > CALLS // 50, providers
    keep_figure("random", family, {"calls": CALLS, "pack": providers["pack"]})


def _check_host(selection: Selection, call: Call, unproven: Host) -> None:
    """The same call where nothing is proven, and the arguments of its launches."""
    assert (selection.provider == "pack") == (selection.bound is not None) == supported(call, unproven)
    strict = explain(call, unproven)
    assert strict.provider == "framework"
    if not selection.bound:
        return
    assert strict.reason.startswith("emulated only")
    for launch in selection.bound.launches:
        names = [arg.value for arg in launch.kernel.args if arg.kind == "pointer"]
        assert len(pack_kernarg(launch, dict.fromkeys(names, 4096))) == launch.kernel.kernarg_bytes
        assert all(size >= 0 for size in launch.grid)


def _pick_cells(family: str, random: Random) -> list[tuple[Arch, str, str]]:
    """(arch, op, cell): one of them; by night one of each op or more, on every arch if the archs are no more."""
    ops = sorted(op for op, origin in read_origins().items() if origin == family)
    archs = random.sample(AMD_ARCHS, len(AMD_ARCHS))
    if NIGHTLY:
        pairs = [(archs[number % len(archs)], ops[number % len(ops)]) for number in range(max(len(ops), len(archs)))]
    else:
        pairs = [(archs[0], random.choice(ops))]
    cells = (sorted({item.cell for item in make_family_variants(family, arch) if item.op == op}) for arch, op in pairs)
    return [(arch, op, random.choice(own)) for (arch, op), own in zip(pairs, cells, strict=True)]


def _build(family: str, arch: Arch, op: str, cell: str) -> Pack:
    chosen = [item for item in make_family_variants(family, arch) if (item.op, item.cell) == (op, cell)]
    return build_pack(arch, chosen, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


def _run_shapes(pack: Pack, op: str, cell: str) -> tuple[int, list[str]]:
    """How often variants ran on the shapes, and what was wrong."""
    faults, runs = [], 0
    for case in make_cases(op, cell):
        for variant in pack.manifest.variants:
            finding = judge_variant(pack, variant, case)
            runs += finding is not None
            if finding and finding.fault:
                faults.append(f"{pack.manifest.arch} {variant.key}, {replace(case, arrays={})}: {finding.fault}")
    return runs, faults


@pytest.mark.parametrize("family", sorted(SHAPES))
def test_random_shapes_compute_what_the_reference_does(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(f"{family}/{read_rotation() if NIGHTLY else 0}")  # noqa: S311  # shapes, no secrets
    picked = _pick_cells(family, random)
    wanted = EXECUTED_SLOWLY if SHAPES[family].is_slow else EXECUTED
    total, faults = 0, []
    for arch, op, cell in picked:
        pack, share, runs, shapes = _build(family, arch, op, cell), -(-wanted // len(picked)), 0, 0
        for _ in range(TRIES if pack.manifest.variants else 0):
            taken = runs / shapes if runs else len(pack.manifest.variants)
            count = max(1, int((share - runs) / taken))
            replace_shapes(
                family, random, count, lambda *place: monkeypatch.setattr(f"{place[0]}.{place[1]}", place[2])
            )
            more, wrong = _run_shapes(pack, op, cell)
            runs, shapes, faults = runs + more, shapes + count, faults + wrong
            if runs >= share:
                break
        assert runs >= share or not pack.manifest.variants
        total += runs
    assert not faults, "\n".join(faults[:5])
    of = ", ".join(f"{op} {arch.name}" for arch, op, _ in picked)
    keep_figure("random", family, {"runs": total, "of": of})


def test_every_family_has_random_shapes() -> None:
    assert set(SHAPES) == set(read_families())
