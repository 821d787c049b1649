"""Code in the files, data beside the libraries, promise and label, with code objects compiled here."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit_trees import SYSTEM, AuditTree, find_rule, make_tree
from fat_files import FatLibrary, bundle_for, compile_kernels, compress_bundle

DATA = f"{SYSTEM}/rocblas/library"
STEM = "TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk"


@pytest.fixture
def tree(tmp_path: Path) -> AuditTree:
    made = make_tree(tmp_path / "root")
    made.promise("gfx942", "gfx950")
    return made


def add_rocblas(tree: AuditTree, *archs: str) -> None:
    """The library, with code for every promised GPU, and its data for some."""
    FatLibrary(bundles=[bundle_for(["gfx942", "gfx950"])]).build(tree.path / SYSTEM / "librocblas.so.5")
    for arch in archs:
        add_data(tree, arch)


def add_data(tree: AuditTree, arch: str) -> None:
    tree.write(f"{DATA}/TensileLibrary_lazy_{arch}.dat", b"\x80")
    tree.write(f"{DATA}/{STEM}_{arch}.co", compile_kernels(arch))
    tree.write(f"{DATA}/Kernels.so-000-{arch}.hsaco", compress_bundle(bundle_for([arch]), 2))


def test_library_with_data_for_every_promised_gpu_is_clean(tree: AuditTree) -> None:
    add_rocblas(tree, "gfx942", "gfx950")
    assert tree.faults() == []
    assert tree.audit().counts["device_code"] == 5


def test_arch_promised_but_absent_in_tensile_data_is_found(tree: AuditTree) -> None:
    add_rocblas(tree, "gfx942")
    finding = find_rule(tree.audit(), "data-missing")
    assert (finding.severity, finding.path) == ("error", f"/{DATA}")
    assert finding.evidence == "no index and no code for gfx950; there is gfx942"


def test_index_without_code_is_found(tree: AuditTree) -> None:
    add_rocblas(tree, "gfx942")
    tree.write(f"{DATA}/TensileLibrary_lazy_gfx950.dat", b"\x80")
    assert find_rule(tree.audit(), "data-missing").evidence.startswith("no code for gfx950")


def test_data_that_no_library_here_reads_is_no_fault(tree: AuditTree) -> None:
    add_data(tree, "gfx942")
    assert tree.faults() == []


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_library_without_code_for_a_promised_gpu_is_found(tree: AuditTree, version: int) -> None:
    raw = bundle_for(["gfx942"])
    bundle = compress_bundle(raw, version) if version else raw
    FatLibrary(bundles=[bundle]).build(tree.path / SYSTEM / "librccl.so.1")
    finding = find_rule(tree.audit(), "code-missing")
    assert finding.evidence == "none for gfx950; holds gfx942"


def test_generic_code_serves_its_archs(tree: AuditTree) -> None:
    FatLibrary(bundles=[bundle_for(["gfx9-4-generic"])]).build(tree.path / SYSTEM / "librccl.so.1")
    assert tree.faults() == []


def test_code_that_nobody_asked_for_is_found(tree: AuditTree) -> None:
    FatLibrary(bundles=[bundle_for(["gfx90a:xnack+", "gfx942", "gfx950"])]).build(tree.path / SYSTEM / "librccl.so.1")
    add_rocblas(tree, "gfx942", "gfx950", "gfx1100")
    report = tree.audit()
    found = {one.path: one.evidence for one in report.findings if one.rule == "code-unwanted"}
    assert found == {f"/{SYSTEM}/librccl.so.1": "for gfx90a:xnack+", f"/{DATA}": "for gfx1100 in 2 files"}


def test_library_that_is_made_for_some_gpus_only_lacks_nothing(tree: AuditTree) -> None:
    tree.promise("gfx942", "gfx1100")
    FatLibrary(bundles=[bundle_for(["gfx942"])]).build(tree.path / SYSTEM / "libhipsparselt.so.0")
    tree.write(f"{SYSTEM}/hipsparselt/library/TensileLibrary_gfx942.dat", b"\x80")
    tree.write(f"{SYSTEM}/hipsparselt/library/TensileLibrary_gfx942.co", compile_kernels("gfx942"))
    assert tree.faults() == []


def test_file_named_after_another_gpu_is_found(tree: AuditTree) -> None:
    add_rocblas(tree, "gfx942", "gfx950")
    tree.write(f"{DATA}/Kernels.so-001-gfx950.hsaco", compile_kernels("gfx942"))
    assert find_rule(tree.audit(), "code-misnamed").evidence == "holds code for gfx942"


def test_untuned_gpu_is_a_note(tree: AuditTree) -> None:
    for name in ("gfx94280.HIP.fdb.txt", "gfx90878.db.txt"):
        tree.write(f"{SYSTEM}/miopen/db/{name}", "1=2\n")
    assert find_rule(tree.audit(), "tuning-missing").evidence == "nothing for gfx950"


def test_command_line_goes_before_the_record(tree: AuditTree) -> None:
    add_rocblas(tree, "gfx942", "gfx950")
    assert ("data-missing", f"/{DATA}") in tree.faults("gfx1100")


def test_without_a_promise_nothing_is_unwanted(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "root")
    FatLibrary(bundles=[bundle_for(["gfx942"])]).build(tree.path / SYSTEM / "librccl.so.1")
    report = tree.audit()
    assert (report.archs, report.findings) == ((), ())
