"""What the loader would find, refuse or take twice, over libraries compiled here."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from audit_trees import SITE, SYSTEM, AuditTree, find_rule, make_tree

OPENS_NUMA = '#include <dlfcn.h>\nvoid *open_numa(void) { return dlopen("libnuma.so.1", RTLD_NOW); }\n'


@pytest.fixture
def tree(tmp_path: Path) -> AuditTree:
    return make_tree(tmp_path / "root")


def test_tree_with_a_c_library_is_clean(tree: AuditTree) -> None:
    tree.compile(f"{SYSTEM}/libplain.so.1", "#include <math.h>\ndouble f(double x) { return cos(x); }", "-lm")
    report = tree.audit()
    assert report.findings == ()
    assert report.counts["elf"] >= 6


def test_missing_libnuma_is_found_where_it_is_linked(tree: AuditTree, tmp_path: Path) -> None:
    numa = AuditTree(path=tmp_path).compile("libnuma.so.1", "int numa_available(void) { return 0; }")
    source = "int numa_available(void); int f(void) { return numa_available(); }"
    tree.compile(f"{SITE}/torch/lib/libtorch_hip.so", source, str(numa))
    finding = find_rule(tree.audit(), "needed-missing")
    assert (finding.severity, finding.path) == ("error", f"/{SITE}/torch/lib/libtorch_hip.so")
    assert finding.evidence == "needs libnuma.so.1"
    shutil.copy(numa, tree.path / SYSTEM / "libnuma.so.1")
    assert tree.faults() == []


def test_missing_libnuma_is_found_where_it_is_opened(tree: AuditTree) -> None:
    tree.compile(f"{SYSTEM}/libamdhip64.so.7", "int hipInit(int x) { return x; }")
    tree.compile(f"{SITE}/torch/lib/libtorch_hip.so", OPENS_NUMA)
    finding = find_rule(tree.audit(), "dlopen-missing")
    assert (finding.severity, finding.evidence) == ("error", "opens libnuma.so.1")
    tree.compile(f"{SYSTEM}/libnuma.so.1")
    assert tree.faults() == []


def test_absent_library_of_the_record_is_expected_with_its_reason(tree: AuditTree, tmp_path: Path) -> None:
    missing = AuditTree(path=tmp_path).compile("librocprofiler-sdk.so.1", "int f(void) { return 0; }")
    tree.compile(f"{SYSTEM}/libuser.so.1", "int f(void); int g(void) { return f(); }", str(missing))
    tree.promise("gfx942", absent=["librocprofiler-sdk.so.1: Debian has none"])
    finding = find_rule(tree.audit(), "needed-missing")
    assert (finding.severity, finding.reason) == ("expected", "Debian has none")
    tree.promise("gfx942", **{"provided-by-host": ["librocprofiler-sdk.so.1: mounted"]})
    assert find_rule(tree.audit(), "needed-missing").reason == "mounted"


def test_accepted_finding_of_the_record_is_expected(tree: AuditTree) -> None:
    tree.compile(f"{SITE}/clang/libclang.so", "int f;", "-Wl,-rpath,$ORIGIN/../lib:")
    assert tree.faults() == [("runpath-unsafe", f"/{SITE}/clang/libclang.so")]
    accepted = {"finding": "runpath-unsafe", "paths": ["opt/venv/lib/python3*/**/libclang.so"], "why": "known"}
    tree.promise(rocm="", expected=[accepted])
    assert find_rule(tree.audit(), "runpath-unsafe").reason == "known"
    tree.promise(rocm="", expected=[{**accepted, "paths": ["usr/**"]}])
    assert tree.faults() == [("runpath-unsafe", f"/{SITE}/clang/libclang.so")]


def test_glibcxx_that_is_too_new_is_found(tree: AuditTree, tmp_path: Path) -> None:
    newer = AuditTree(path=tmp_path)
    script = newer.write("map", "GLIBCXX_3.4.99 { global: from_the_future; };\n")
    library = newer.compile(
        "libstdc++.so.6", "int from_the_future(void) { return 0; }", f"-Wl,--version-script={script}"
    )
    source = "int from_the_future(void); int g(void) { return from_the_future(); }"
    tree.compile(f"{SITE}/aiter/ops.so", source, str(library))
    finding = next(one for one in tree.audit().findings if one.rule == "version-too-new")
    assert finding.severity == "error"
    assert finding.evidence.startswith("wants GLIBCXX_3.4.99 of libstdc++.so.6; ")
    assert "nothing newer than GLIBCXX_3.4." in finding.evidence


def test_undefined_function_of_another_build_is_found(tree: AuditTree, tmp_path: Path) -> None:
    old = AuditTree(path=tmp_path).compile("libc10_hip.so", "void raw_alloc(void) {} void c10_cuda_check(void) {}")
    source = "void c10_cuda_check(void); void raw_alloc(void); void f(void) { c10_cuda_check(); raw_alloc(); }"
    tree.compile(f"{SITE}/aiter/ops.so", source, str(old), "-Wl,-rpath,$ORIGIN/../torch/lib")
    tree.compile(f"{SITE}/torch/lib/libc10_hip.so", "void raw_alloc(void) {}")
    assert find_rule(tree.audit(), "symbol-undefined").evidence == "1: c10_cuda_check"


def test_two_copies_in_one_process_are_found(tree: AuditTree) -> None:
    for folder, number in (("a.libs", 1), ("b.libs", 2)):
        made = tree.compile(f"{SITE}/{folder}/libshared.so.1", f"int shared{number}; int shared(void) {{ return 1; }}")
        source = "int shared(void); int g(void) { return shared(); }"
        tree.compile(f"{SITE}/{folder[0]}/core.so", source, str(made), f"-Wl,-rpath,$ORIGIN/../{folder}")
    finding = find_rule(tree.audit(), "library-twice")
    assert finding.evidence == f"libshared.so.1: /{SITE}/a.libs/libshared.so.1, /{SITE}/b.libs/libshared.so.1"


def test_two_copies_of_a_rocm_library_are_found_wherever_they_are(tree: AuditTree) -> None:
    tree.compile(f"{SITE}/torch/lib/libamd_smi.so", "int old_smi;", "-Wl,-soname,libamd_smi.so.26")
    tree.compile("opt/rocm/lib/libamd_smi.so", "int new_smi;", "-Wl,-soname,libamd_smi.so.26")
    finding = find_rule(tree.audit(), "library-twice")
    assert finding.evidence == f"libamd_smi.so.26: /opt/rocm/lib/libamd_smi.so, /{SITE}/torch/lib/libamd_smi.so"


def test_equal_copies_are_no_fault(tree: AuditTree) -> None:
    made = tree.compile(f"{SITE}/torch/lib/libamd_smi.so", "int smi;", "-Wl,-soname,libamd_smi.so.26")
    (tree.path / "opt/rocm/lib").mkdir(parents=True)
    shutil.copy(made, tree.path / "opt/rocm/lib/libamd_smi.so")
    assert tree.faults() == []


def test_rpath_is_inherited_and_runpath_is_not(tree: AuditTree) -> None:
    inner = tree.compile(f"{SITE}/x.libs/libinner.so.1", "int inner(void) { return 1; }")
    middle = "int inner(void); int outer(void) { return inner(); }"
    outer = tree.compile(f"{SITE}/x.libs/libouter.so.1", middle, str(inner))
    source = "int outer(void); int f(void) { return outer(); }"
    link = (str(outer), f"-Wl,-rpath-link,{inner.parent}", "-Wl,-rpath,$ORIGIN/../x.libs")
    core = tree.compile(f"{SITE}/x/core.so", source, *link, "-Wl,--disable-new-dtags")
    assert tree.audit().findings == ()
    core.unlink()
    tree.compile(f"{SITE}/x/core.so", source, *link, "-Wl,--enable-new-dtags")
    assert find_rule(tree.audit(), "needed-preloaded").path == f"/{SITE}/x.libs/libouter.so.1"


def test_rocm_library_that_nothing_leads_to_is_unreachable(tree: AuditTree) -> None:
    made = tree.compile("opt/rocm/lib/libamdhip64.so.7", "int hipInit(int x) { return x; }")
    tree.compile(f"{SITE}/torch/lib/libtorch_hip.so", "int hipInit(int); int f(void) { return hipInit(0); }", str(made))
    assert find_rule(tree.audit(), "needed-unreachable").evidence == (
        "needs libamdhip64.so.7, which is only at /opt/rocm/lib/libamdhip64.so.7"
    )


def test_cuda_library_that_cannot_load_is_a_note(tree: AuditTree, tmp_path: Path) -> None:
    cudart = AuditTree(path=tmp_path).compile("libcudart.so.12", "int cudaFree(void) { return 0; }")
    source = "int cudaFree(void); int f(void) { return cudaFree(); }"
    tree.compile(f"{SITE}/bitsandbytes/libbitsandbytes_cuda128.so", source, str(cudart))
    assert find_rule(tree.audit(), "needs-cuda").severity == "note"
    assert tree.faults() == []


def test_runpath_to_a_folder_that_others_may_fill_is_found(tree: AuditTree) -> None:
    tree.compile(f"{SYSTEM}/liba.so.1", "int a;", "-Wl,-rpath,/tmp/build/lib")
    tree.compile(f"{SYSTEM}/libb.so.1", "int b;", "-Wl,-rpath,/opt/nowhere/lib")
    report = tree.audit()
    assert find_rule(report, "runpath-unsafe").path == f"/{SYSTEM}/liba.so.1"
    assert find_rule(report, "runpath-nowhere").severity == "note"


def test_program_for_another_c_library_is_found(tree: AuditTree) -> None:
    place = tree.path / "usr/bin/tool"
    place.parent.mkdir()
    command = ["cc", "-o", str(place), "-Wl,--dynamic-linker,/lib/ld-musl-x86_64.so.1", "-x", "c", "-"]
    subprocess.run(command, input="int main(void) { return 0; }", text=True, check=True)
    assert find_rule(tree.audit(), "interpreter-missing").evidence == "asks for /lib/ld-musl-x86_64.so.1"


def test_damaged_library_is_said_and_stops_nothing(tree: AuditTree) -> None:
    made = tree.compile(f"{SYSTEM}/libcut.so.1", "int f(void) { return 1; }")
    made.write_bytes(made.read_bytes()[:200])
    assert tree.faults() == [("unreadable", f"/{SYSTEM}/libcut.so.1")]


def cache_of(soname: str, path: str) -> bytes:
    """/etc/ld.so.cache with one library, as dl-cache.h of glibc has it."""
    start = 48 + 24
    entry = struct.pack("<iIIIQ", 0x0303, start, start + len(soname) + 1, 0, 0)
    return struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", 1, 0, 2, 0) + entry + f"{soname}\0{path}\0".encode()


def test_hiprtc_that_asks_for_the_dev_name_is_a_note_where_hip_is_there(tree: AuditTree) -> None:
    """Debian's libhiprtc opens libamdhip64.so, whose link only the -dev package brings, and does without."""
    source = '#include <dlfcn.h>\nvoid *open_hip(void) { return dlopen("libamdhip64.so", RTLD_NOW); }\n'
    tree.promise("gfx942")
    tree.compile(f"{SYSTEM}/libhiprtc.so.7", source)
    assert find_rule(tree.audit(), "dlopen-missing").severity == "error"
    tree.compile(f"{SYSTEM}/libamdhip64.so.7", "int hipInit(int x) { return x; }")
    tree.write("etc/ld.so.cache", cache_of("libamdhip64.so.7", f"/{SYSTEM}/libamdhip64.so.7"))
    finding = find_rule(tree.audit(), "dlopen-missing")
    assert (finding.severity, finding.evidence) == ("note", "opens libamdhip64.so")
