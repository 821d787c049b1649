"""gfxemu's decoder against LLVM 22, and 19 for the archs that it knows, on every instruction of compiled packs.

Some six kernels of each arch in CI, from the cells that test_cells compiles too; with ROCKILN_NIGHTLY=1 a variant of
each op, and every kernel.
"""

from __future__ import annotations

from pathlib import Path

import llvm
import pytest

import gfxemu
from harness.figures import OF_EACH_OP, hash_pack, keep_figure
from harness.mutate import build_sample
from harness.rotation import NIGHTLY, pick_wishes, read_rotation
from rockiln_kernels.archs import AMD_ARCHS, Arch
from rockiln_kernels.pack.build import Pack, build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_arch_variants

SAMPLE = 6
"""Variants of an arch in CI: 42 in all."""
MOST_OPS, SAMPLE_SEED = 200, 20261201
"""A variant of each op, as many as there are: the packs that test_mutation.py builds by night."""


def _build(arch: Arch) -> Pack:
    variants = make_arch_variants(arch)
    if not NIGHTLY:
        cells = {(wish.op, wish.cell) for wish in pick_wishes() if wish.arch == arch.name}
        known = [variant for variant in variants if (variant.op, variant.cell) in cells]
        step = max(1, len(known) // SAMPLE)
        variants = tuple(known[read_rotation() % step :: step][:SAMPLE])
    return build_pack(arch, variants, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


def _compare(pack: Pack, name: str, folder: Path) -> None:
    """Every instruction of a pack, and what was compared as a figure of this name."""
    versions = ("22",) if pack.manifest.arch in llvm.UNKNOWN_TO_19 else ("22", "19")
    compared = dict.fromkeys(versions, 0)
    unknown: set[str] = set()
    for file, code in pack.code.items():
        unknown |= {f"{file}: {item.text()}" for item in gfxemu.load(code).unknown()}
        for version in versions:
            compared[version] += llvm.compare(code, version, folder)
    counts = {f"llvm-{version}": count for version, count in compared.items()}
    keep_figure("decoding", name, {"kernels": len(pack.code), "sha256": hash_pack(pack), **counts})
    assert pack.code
    assert not unknown
    assert min(compared.values()) > 20 * len(pack.code)


@pytest.mark.parametrize("arch", AMD_ARCHS, ids=lambda arch: arch.name)
def test_compiled_packs_read_as_llvm_reads_them(arch: Arch, tmp_path: Path) -> None:
    _compare(_build(arch), arch.name, tmp_path)


@pytest.mark.skipif(not NIGHTLY, reason="CI compares some kernels of each arch above")
@pytest.mark.parametrize("arch", AMD_ARCHS, ids=lambda arch: arch.name)
def test_a_kernel_of_each_op_reads_as_llvm_reads_it(arch: Arch, tmp_path: Path) -> None:
    _compare(build_sample(arch, MOST_OPS, SAMPLE_SEED), f"{arch.name}{OF_EACH_OP}", tmp_path)
