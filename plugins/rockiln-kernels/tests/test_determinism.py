"""Workgroups in any order give the same bytes: where several of them make one result, its sum has one order."""

from __future__ import annotations

import pytest

from harness.case import Case
from harness.execute import execute, prepare
from harness.judge import make_cases
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.call import Rejected
from rockiln_kernels.pack.build import Pack, build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.manifest import VariantEntry
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants, read_origins, read_table

_CALLS = (
    ("stream_k_gemm", "bf16", "long"),
    ("paged_decode", "bf16", "grouped-d64"),
    ("mla_decode", "bf16", "odd"),
    ("moe_align", "i32", "many"),
    ("fused_moe", "bf16", "aligned"),
    ("attention_prefill_backward", "bf16", "causal-d64"),
)
"""op, cell, case."""


def _build_first(op: str, cell: str, name: str) -> tuple[Pack, VariantEntry, Case]:
    """The first variant for gfx942 that takes the case."""
    arch = ARCHS["gfx942"]
    case = next(case for case in make_cases(op, cell) if case.name == name)
    variants = [item for item in make_family_variants(read_origins()[op], arch) if (item.op, item.cell) == (op, cell)]
    pack = build_pack(arch, variants, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)
    fitting = (
        item
        for item in pack.manifest.variants
        if not isinstance(prepare(read_table()[op], cell, case, pack, item), Rejected)
    )
    return pack, next(fitting), case


@pytest.mark.parametrize(("op", "cell", "name"), _CALLS, ids=lambda item: item)
def test_order_of_workgroups_does_not_matter(op: str, cell: str, name: str) -> None:
    pack, variant, case = _build_first(op, cell, name)
    prepared = prepare(read_table()[op], cell, case, pack, variant)
    assert not isinstance(prepared, Rejected)
    results = [execute(prepared, case, pack, order=order) for order in ("forward", "reverse", 7)]
    for other in results[1:]:
        assert all(other[key].tobytes() == array.tobytes() for key, array in results[0].items())
