"""Swapped, doubled and editable packages are found by what they are, not by what they are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit_trees import SITE, AuditTree, find_rule, install_torch, make_tree


@pytest.fixture
def tree(tmp_path: Path) -> AuditTree:
    made = make_tree(tmp_path / "root")
    made.promise("gfx942")
    return made


def test_rocm_torch_with_its_family_is_clean(tree: AuditTree) -> None:
    install_torch(tree)
    tree.install("torchvision", "0.23.0+rocm7.0.2.git824e8c87", {"torchvision/__init__.py": ""})
    tree.install("triton", "3.4.0+rocm7.0.2.gitf9e5bf54", {"triton/__init__.py": ""})
    assert tree.faults() == []


def test_cuda_torch_in_a_rocm_image_is_found(tree: AuditTree) -> None:
    install_torch(tree, "2.8.0", "None")
    finding = find_rule(tree.audit(), "torch-not-hip")
    assert finding.severity == "error"
    assert finding.path == f"/{SITE}/torch/version.py"
    assert "CUDA 12.8" in finding.evidence


def test_torch_without_rocm_in_its_name_is_judged_by_hip(tree: AuditTree) -> None:
    install_torch(tree, "2.8.0+gitc497508")
    assert tree.faults() == []


def test_cpu_torch_in_a_cpu_image_is_no_fault(tree: AuditTree) -> None:
    tree.promise(rocm="")
    install_torch(tree, "2.8.0+cpu", "None")
    assert tree.faults() == []


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("torchvision", "0.23.0"),
        ("torchvision", "0.23.0+cu128"),
        ("torchaudio", "2.8.0+rocm6.4"),
        ("triton", "3.4.0"),
    ],
)
def test_torch_family_from_two_indexes_is_found(tree: AuditTree, name: str, version: str) -> None:
    install_torch(tree)
    tree.install(name, version, {f"{name}/__init__.py": ""})
    assert ("torch-family-mixed", f"/{SITE}/{name}-{version}.dist-info") in tree.faults()


@pytest.mark.parametrize("name", ["nvidia-cublas-cu12", "cuda-bindings", "jax-cuda12-plugin", "cupy-cuda12x"])
def test_cuda_package_in_a_rocm_image_is_found(tree: AuditTree, name: str) -> None:
    tree.install(name, "12.0", {f"{name}.py": ""})
    assert [rule for rule, _ in tree.faults()] == ["cuda-package"]


def test_jax_of_another_version_than_its_plugin_is_found(tree: AuditTree) -> None:
    for name, version in (("jax", "0.6.0"), ("jaxlib", "0.6.0"), ("jax-rocm7-plugin", "0.6.0")):
        tree.install(name, version, {f"{name}.py": ""})
    assert tree.faults() == []
    tree.install("jax-rocm7-pjrt", "0.5.0", {"pjrt.py": ""})
    assert "jax-rocm7-pjrt 0.5.0" in find_rule(tree.audit(), "jax-versions-differ").evidence


def test_editable_install_is_found_by_direct_url(tree: AuditTree) -> None:
    tree.install("aiter", "0.1", {"x.py": ""})
    url = {"url": "file:///sgl-workspace/aiter", "dir_info": {"editable": True}}
    tree.write(f"{SITE}/aiter-0.1.dist-info/direct_url.json", json.dumps(url))
    assert "/sgl-workspace/aiter" in find_rule(tree.audit(), "editable-install").evidence


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("__editable__.aiter-0.1.pth", "/sgl-workspace/aiter\n"),
        ("__editable__.aiter-0.1.pth", "import __editable___aiter_0_1_finder; __editable___aiter_0_1_finder.install()"),
        ("easy-install.pth", "/sgl-workspace/aiter\n"),
        ("aiter.egg-link", "/sgl-workspace/aiter\n.\n"),
    ],
)
def test_editable_install_is_found_by_what_installers_write(tree: AuditTree, name: str, text: str) -> None:
    tree.write(f"{SITE}/{name}", text)
    assert tree.faults() == [("editable-install", f"/{SITE}/{name}")]


def test_pth_file_of_setuptools_is_no_fault(tree: AuditTree) -> None:
    tree.write(f"{SITE}/distutils-precedence.pth", "import os; var = 'SETUPTOOLS_USE_DISTUTILS'\n")
    tree.write(f"{SITE}/_virtualenv.pth", "import _virtualenv")
    assert tree.faults() == []


def test_pth_file_that_leads_to_nothing_is_found(tree: AuditTree) -> None:
    tree.write(f"{SITE}/extra.pth", "/workspace/gone\n")
    assert tree.faults() == [("path-file-leads-out", f"/{SITE}/extra.pth")]


def test_two_versions_of_one_distribution_are_found(tree: AuditTree) -> None:
    tree.install("numpy", "2.1.3", {"numpy/__init__.py": "a"})
    tree.install("NumPy", "2.3.0", {"numpy/other.py": "b"})
    assert tree.faults() == [("distribution-twice", f"/{SITE}")]


def test_package_that_was_swapped_after_the_record_is_found(tree: AuditTree) -> None:
    tree.promise("gfx942", packages=[{"kind": "wheel", "name": "triton", "version": "3.5.1", "sha256": "0"}])
    tree.install("triton", "3.7.0", {"triton/__init__.py": ""})
    assert "the record says 3.5.1" in find_rule(tree.audit(), "freeze-changed").evidence


def test_records_of_hip_python_interop_and_cuda_bindings_collide(tree: AuditTree) -> None:
    """As their real wheels do, with 23 paths: test_audit_real.py."""
    tree.install("cuda-pathfinder", "1.0", {"cuda/__init__.py": "", "cuda/pathfinder.py": "1"})
    tree.install("hip-python-interop", "7.0.2", {"cuda/__init__.py": "", "cuda/cudart.pxd": "of HIP"})
    assert "record-collision" not in dict(tree.faults())
    tree.install("cuda-bindings", "12.9", {"cuda/__init__.py": "", "cuda/cudart.pxd": "of CUDA"})
    finding = find_rule(tree.audit(), "record-collision")
    assert finding.evidence == (
        f"cuda-bindings 12.9 and hip-python-interop 7.0.2 both claim 1 files: /{SITE}/cuda/cudart.pxd"
    )


def test_changed_and_missing_files_of_a_record_are_found(tree: AuditTree) -> None:
    tree.install("one", "1", {"one/a.py": "a", "one/b.py": "b", "one/c.py": "c"})
    (tree.path / SITE / "one/a.py").write_text("changed")
    (tree.path / SITE / "one/b.py").unlink()
    assert tree.faults() == [
        ("record-differs", f"/{SITE}/one-1.dist-info"),
        ("record-missing", f"/{SITE}/one-1.dist-info"),
    ]


def put_on_cpu_record(tree: AuditTree) -> AuditTree:
    """What `FROM` an image for CPUs gives: its record says that there is no ROCm, whatever came later."""
    tree.promise(rocm="")
    tree.install("nvidia-cublas-cu12", "12.8.4.1", {"nvidia/cublas/__init__.py": ""})
    return tree


def test_cuda_package_beside_a_cpu_record_is_no_fault(tree: AuditTree) -> None:
    assert put_on_cpu_record(tree).faults() == []


def test_archs_asked_for_go_before_a_cpu_record(tree: AuditTree) -> None:
    install_torch(put_on_cpu_record(tree), "2.8.0+cpu", "None")
    assert tree.faults() == []
    assert tree.faults("gfx950") == [
        ("cuda-package", f"/{SITE}/nvidia_cublas_cu12-12.8.4.1.dist-info"),
        ("torch-not-hip", f"/{SITE}/torch/version.py"),
    ]


@pytest.mark.parametrize("name", ["jax-rocm7-pjrt", "jax_rocm60_plugin", "tensorflow-rocm", "pytorch-triton-rocm"])
def test_rocm_package_goes_before_a_cpu_record(tree: AuditTree, name: str) -> None:
    put_on_cpu_record(tree).install(name, "0.6.2", {})
    assert tree.faults() == [("cuda-package", f"/{SITE}/nvidia_cublas_cu12-12.8.4.1.dist-info")]


def test_hip_runtime_goes_before_a_cpu_record(tree: AuditTree) -> None:
    put_on_cpu_record(tree).compile("usr/lib/x86_64-linux-gnu/libamdhip64.so.7")
    assert ("cuda-package", f"/{SITE}/nvidia_cublas_cu12-12.8.4.1.dist-info") in tree.faults()
