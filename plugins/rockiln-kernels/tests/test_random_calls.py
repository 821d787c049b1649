"""Random shapes of every op through selection: an answer each time, and a reason each time the pack does not run it.

2,000 a family through selection; where a family's cases take shapes, some of them are executed and compared, too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cases.gemm import Product
from cases.row_cases import RowCase
from harness.judge import judge_variant, make_cases
from harness.rotation import NIGHTLY, read_rotation
from random_calls.calls import draw_call
from random_calls.planned import plan_manifest
from rockiln_kernels.archs import AMD_ARCHS
from rockiln_kernels.bind import pack_kernarg
from rockiln_kernels.pack.build import build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.selection import Host, InstalledPack, Selection, explain, supported
from rockiln_kernels.spec import Call
from rockiln_kernels.table import make_family_variants, read_families, read_origins, read_table

CALLS = 2000
EXECUTED = 2000 if NIGHTLY else 100
ROW_MODULES = {
    "rms_norm": "rms_norm", "silu_and_mul": "gates", "gelu_and_mul": "gates", "gelu_tanh_and_mul": "gates",
    "swiglu_and_mul": "gates", "quant_fp8": "quant_fp8", "quant_mxfp4": "mx", "quant_mxfp6": "mx", "quant_mxfp8": "mx",
}  # fmt: skip
"""Family → the module of cases/ that asks for rows."""


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


def _draw_rows(random: Random, step: int, count: int) -> list[RowCase]:
    rows = []
    for number in range(count):
        columns = step * random.randrange(1, max(2, 700 // step))
        gap = random.choice((0, 0, 1, 5, 16))
        is_odd = random.random() < 0.5
        name = f"random{number}"
        rows.append(
            RowCase(name=name, rows=random.randrange(1, 6), columns=columns, gap=gap, is_misaligned=is_odd)
        )
    return rows


def _draw_products(random: Random, count: int) -> list[Product]:
    return [
        Product(
            name=f"random{number}",
            m=random.randrange(1, 70),
            n=random.randrange(1, 70),
            k=random.randrange(1, 100),
            gap=random.choice((0, 0, 3, 16)),
            has_bias=random.random() < 0.5,
            is_misaligned=random.random() < 0.5,
        )
        for number in range(count)
    ]


def _replace_shapes(family: str, random: Random, count: int, patch: pytest.MonkeyPatch) -> None:
    """Random shapes in the place of those that the cases name."""
    if family in ROW_MODULES:
        module = import_module(f"cases.{ROW_MODULES[family]}")

        def list_rows(step: int = 1, **_ignored: Any) -> list[RowCase]:
            return _draw_rows(random, step, count)

        patch.setattr(module, "list_row_cases", list_rows)
    elif family == "gemm":
        patch.setattr(import_module("cases.gemm"), "PRODUCTS", _draw_products(random, count))
    elif family == "rope":
        shapes = []
        for number in range(count):
            pairs = random.randrange(1, 40)
            size = 2 * pairs + random.randrange(30)
            shapes.append((f"random{number}", random.randrange(1, 5), random.randrange(1, 5), size, pairs))
        patch.setattr(import_module("cases.rope"), "_SHAPES", shapes)
    else:
        shapes = [
            (f"random{number}", random.randrange(1, 90), random.randrange(1, 5), random.randrange(5, 20), size)
            for number, size in enumerate(random.choices((1, 4, 7, 16, 64), k=count))
        ]
        patch.setattr(import_module("cases.moe_align"), "_SHAPES", shapes)


@pytest.mark.parametrize("family", [*ROW_MODULES, "gemm", "rope", "moe_align"])
def test_random_shapes_compute_what_the_reference_does(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(f"{family}/{read_rotation()}")  # noqa: S311  # shapes, no secrets
    arch = AMD_ARCHS[random.randrange(len(AMD_ARCHS))]
    variants = make_family_variants(family, arch)
    op, cell = random.choice(sorted({(item.op, item.cell) for item in variants}))
    chosen = [item for item in variants if (item.op, item.cell) == (op, cell)]
    pack = build_pack(arch, chosen, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)
    _replace_shapes(family, random, EXECUTED // max(len(chosen), 1), monkeypatch)
    faults, runs = [], 0
    for case in make_cases(op, cell):
        for variant in pack.manifest.variants:
            finding = judge_variant(pack, variant, case)
            runs += finding is not None
            if finding and finding.fault:
                faults.append(f"{arch.name} {variant.key}, {replace(case, arrays={})}: {finding.fault}")
    assert not faults, "\n".join(faults[:5])
    assert runs or not pack.manifest.variants
