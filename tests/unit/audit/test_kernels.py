"""Packs, prebuilt libraries, and what would compile at run time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit_trees import SITE, AuditTree, find_rule, make_pack, make_tree


@pytest.fixture
def tree(tmp_path: Path) -> AuditTree:
    made = make_tree(tmp_path / "root")
    made.promise("gfx942")
    return made


def test_whole_pack_is_clean(tree: AuditTree) -> None:
    make_pack(tree, "gfx942", ["rms_norm", "rope"])
    assert tree.faults() == []


def test_pack_with_no_kernels_is_found(tree: AuditTree) -> None:
    folder = make_pack(tree, "gfx942", [])
    assert tree.faults() == [("pack-empty", f"/{folder}")]


def test_pack_that_lacks_a_promised_kernel_is_found(tree: AuditTree) -> None:
    folder = make_pack(tree, "gfx942", ["rms_norm"], absent=["rope"])
    assert tree.faults() == [("pack-incomplete", f"/{folder}")]
    assert find_rule(tree.audit(), "pack-incomplete").evidence == "gfx942 lacks 1: rope/bf16/only; it spills"


def test_pack_that_lacks_what_another_has_is_found(tree: AuditTree) -> None:
    tree.promise("gfx942", "gfx950")
    make_pack(tree, "gfx942", ["rms_norm", "rope"])
    folder = make_pack(tree, "gfx950", ["rms_norm"])
    assert tree.faults() == [("pack-incomplete", f"/{folder}")]


def test_pack_that_lacks_what_rockiln_kernels_promises_is_found(tree: AuditTree) -> None:
    promised = {"schema": 1, "archs": {"gfx942": ["rms_norm/bf16", "rope/bf16"], "gfx950": ["gemm/bf16"]}}
    tree.write(f"{SITE}/rockiln_kernels/promised.json", json.dumps(promised))
    folder = make_pack(tree, "gfx942", ["rms_norm"])
    assert tree.faults() == [("pack-incomplete", f"/{folder}")]
    evidence = find_rule(tree.audit(), "pack-incomplete").evidence
    assert evidence == "gfx942 lacks 1 that rockiln-kernels promises: rope/bf16"


@pytest.mark.parametrize("text", ["{", "[]", '{"archs": []}', '{"archs": {"gfx942": 1}}'])
def test_promise_that_cannot_be_read_promises_nothing(tree: AuditTree, text: str) -> None:
    tree.write(f"{SITE}/rockiln_kernels/promised.json", text)
    make_pack(tree, "gfx942", ["rms_norm"])
    assert tree.faults() == []


def test_kinds_of_fp8_differ_between_archs_and_are_no_gap(tree: AuditTree) -> None:
    tree.promise("gfx942", "gfx950")
    for arch, kind in (("gfx942", "e4m3fnuz"), ("gfx950", "e4m3")):
        folder = make_pack(tree, arch, ["quant"])
        path = tree.path / folder / "manifest.json"
        path.write_text(path.read_text().replace('"cell": "bf16"', f'"cell": "bf16-{kind}"'))
    assert tree.faults() == []


def test_promised_gpu_without_a_pack_is_found(tree: AuditTree) -> None:
    make_pack(tree, "gfx950", ["rms_norm"])
    assert find_rule(tree.audit(), "pack-arch-missing").evidence == "none for gfx942; there is gfx950"


def test_changed_or_missing_code_of_a_pack_is_found(tree: AuditTree) -> None:
    folder = make_pack(tree, "gfx942", ["rms_norm", "rope"])
    (tree.path / folder / "rms_norm.bin").write_bytes(b"other")
    (tree.path / folder / "rope.bin").unlink()
    assert find_rule(tree.audit(), "pack-damaged").evidence == "rms_norm.bin has another hash, rope.bin is missing"


def test_other_manifests_are_left_alone(tree: AuditTree) -> None:
    tree.write(f"{SITE}/other/manifest.json", '{"kernels": [], "arch": 1}')
    tree.write(f"{SITE}/more/manifest.json", "{")
    assert tree.faults() == []


def test_amdsmi_without_its_library_is_found(tree: AuditTree) -> None:
    tree.install("amdsmi", "7.0.2", {"amdsmi/__init__.py": ""})
    assert tree.faults() == [("amdsmi-without-library", f"/{SITE}/amdsmi")]
    tree.compile("opt/rocm-7.0.2/lib/libamd_smi.so.26")
    (tree.path / "opt/rocm-7.0.2/lib/libamd_smi.so").symlink_to("libamd_smi.so.26")
    (tree.path / "opt/rocm").symlink_to("rocm-7.0.2")
    assert tree.faults() == []


def test_triton_without_linker_and_compiler_is_found(tree: AuditTree) -> None:
    tree.install("triton", "3.4.0", {"triton/backends/amd/driver.py": ""})
    assert sorted(tree.faults()) == [
        ("compiler-missing", f"/{SITE}/triton"),
        ("linker-missing", f"/{SITE}/triton"),
    ]
    tree.write("opt/rocm/llvm/bin/ld.lld", "#!")
    tree.write("usr/bin/cc", "#!")
    assert tree.faults() == []


def test_jax_plugin_without_linker_is_found(tree: AuditTree) -> None:
    tree.compile(f"{SITE}/jax_plugins/xla_rocm7/xla_rocm_plugin.so")
    assert tree.faults() == [("linker-missing", f"/{SITE}/jax_plugins")]


def test_aiter_without_prebuilt_modules_is_found(tree: AuditTree) -> None:
    tree.install("amd-aiter", "0.1", {"aiter/__init__.py": "", "aiter/jit/core.py": ""})
    assert tree.faults() == [("prebuilt-missing", f"/{SITE}/aiter")]
    tree.compile(f"{SITE}/aiter/jit/module_norm.so")
    assert tree.faults() == []


def test_image_without_rocm_needs_none_of_it(tree: AuditTree) -> None:
    tree.promise(rocm="")
    tree.install("amdsmi", "7.0.2", {"amdsmi/__init__.py": ""})
    tree.install("triton", "3.4.0", {"triton/backends/amd/driver.py": ""})
    assert tree.faults() == []
