"""Remembered runs: what else than the case they depend on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness import results
from harness.case import Case
from harness.results import ResultCache, hash_case, hash_tree, make_key
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.pack.build import Pack, build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants

ARCH = ARCHS["gfx942"]
CASE = Case(name="one", arrays={"x": np.ones((2, 4), np.float32)})


@pytest.fixture(scope="module")
def pack() -> Pack:
    variants = [item for item in make_family_variants("rms_norm", ARCH) if item.key == "rms_norm/bf16/row1024"]
    return build_pack(ARCH, variants, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


def test_a_changed_emulator_forgets_what_passed(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    [variant] = pack.manifest.variants
    before = make_key(pack, variant, CASE)
    assert make_key(pack, variant, CASE) == before
    monkeypatch.setattr(results, "hash_emulator", lambda: "other sources")
    assert make_key(pack, variant, CASE) != before


@pytest.mark.parametrize("name", ["core/valu.cpp", "core/state.h", "opcodes/gfx942.txt", "lower.py"])
def test_the_emulators_hash_covers_each_kind_of_source(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("a")
    before = hash_tree(tmp_path)
    (tmp_path / name).write_text("b")
    assert hash_tree(tmp_path) != before


def test_bytecode_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "lower.py").write_text("a")
    before = hash_tree(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "lower.cpython-311.pyc").write_bytes(b"x")
    assert hash_tree(tmp_path) == before


def test_the_emulators_hash_is_of_its_own_folder() -> None:
    import gfxemu

    assert results.hash_emulator() == hash_tree(Path(gfxemu.__file__).parent)


def test_a_changed_number_is_another_case() -> None:
    assert hash_case(replace(CASE, arrays={"x": np.zeros((2, 4), np.float32)})) != hash_case(CASE)


def test_a_pass_is_remembered(tmp_path: Path) -> None:
    cache = ResultCache(folder=tmp_path)
    assert not cache.has_passed("0123")
    cache.keep_pass("0123")
    assert cache.has_passed("0123")
