"""What the recipes leave out of real paths: nothing that runs, nothing that compiles at run time, all that builds."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix_text import ROOT

from rockiln.manifest import Entry
from rockiln.matrix import read_matrix
from rockiln.recipe import Recipe, read_recipes, select_recipe
from rockiln.recipe_file import read_recipe
from rockiln.slim import choose_dropped

TARGETS = {target.id: target for target in read_matrix(ROOT / "matrix.toml").targets}
RECIPES = read_recipes(ROOT / "images")
SITE = "opt/venv/lib/python3.12/site-packages"
ROCM = "opt/rocm-7.0.2"
GCC = "usr/lib/gcc/x86_64-linux-gnu/13"

RUNS = [
    ("deb:rocm-llvm", f"{ROCM}/lib/llvm/bin/ld.lld"),
    ("deb:rocm-llvm", f"{ROCM}/lib/llvm/bin/lld"),
    ("deb:rocm-llvm", f"{ROCM}/lib/llvm/lib/libLLVM.so.20.0git"),
    ("deb:rocm-device-libs", f"{ROCM}/lib/llvm/lib/clang/20/lib/amdgcn/bitcode/ocml.bc"),
    ("deb:rocblas", f"{ROCM}/share/doc/rocblas/LICENSE.md"),
    ("deb:rccl", f"{ROCM}/share/rccl/msccl-algorithms/allreduce-allpairs-8n-ll-32tb.xml"),
    ("deb:libgcc-13-dev", f"{GCC}/libgcc.a"),
    ("deb:libgcc-13-dev", f"{GCC}/crtbeginS.o"),
    ("deb:libc6-dev", "usr/lib/x86_64-linux-gnu/libc_nonshared.a"),
    ("deb:cpp-13", "usr/libexec/gcc/x86_64-linux-gnu/13/cc1"),
    ("deb:libpython3.12-dev", "usr/include/python3.12/Python.h"),
    ("wheel:torch", f"{SITE}/torch/include/torch/csrc/inductor/cpp_prefix.h"),
    ("wheel:torch", f"{SITE}/torch/bin/torch_shm_manager"),
    ("wheel:triton", f"{SITE}/triton/backends/amd/lib/ockl.bc"),
    ("wheel:triton", f"{SITE}/triton/backends/amd/driver.c"),
    ("wheel:triton", f"{SITE}/triton/backends/nvidia/compiler.py"),
]
BUILDS = [
    ("deb:rocm-llvm", f"{ROCM}/lib/llvm/bin/clang-20", "rocm-compiler"),
    ("deb:rocm-llvm", f"{ROCM}/lib/llvm/lib/libclang-cpp.so.20.0git", "rocm-compiler"),
    ("deb:rocprofiler-sdk", f"{ROCM}/include/rocprofiler-sdk/rocprofiler.h", "rocm-headers"),
    ("deb:comgr", f"{ROCM}/lib/cmake/amd_comgr/amd_comgr-config.cmake", "rocm-headers"),
    ("deb:hipblaslt", f"{ROCM}/lib/liborigami.a", "static-libraries"),
    ("deb:libhipblaslt1", "usr/lib/x86_64-linux-gnu/liborigami.a", "static-libraries"),
    ("deb:libc6-dev", "usr/lib/x86_64-linux-gnu/libc.a", "static-libraries"),
    ("deb:libgcc-13-dev", f"{GCC}/libasan.a", "static-libraries"),
    ("deb:gcc-13", "usr/libexec/gcc/x86_64-linux-gnu/13/lto1", "link-time-optimizer"),
    ("wheel:torch", f"{SITE}/torch/share/cmake/Torch/TorchConfig.cmake", "torch-build-files"),
    ("wheel:torch", f"{SITE}/torch/bin/protoc-3.13.0.0", "torch-build-files"),
    ("wheel:numpy", f"{SITE}/numpy/random/lib/libnpyrandom.a", "static-libraries"),
]
NOBODY = [
    ("deb:rocblas", f"{ROCM}/share/doc/rocblas/README.md", "rocm-docs"),
    ("deb:rccl", f"{ROCM}/share/rccl/msccl-unit-test-algorithms/all-reduce-ring-ll.xml", "rocm-tests"),
    ("deb:rocprofiler-sdk", f"{ROCM}/share/rocprofiler-sdk/samples/counter/main.cpp", "rocm-tests"),
    ("wheel:triton", f"{SITE}/triton/backends/nvidia/bin/ptxas", "other-vendors"),
    ("wheel:triton", f"{SITE}/triton/backends/nvidia/lib/cupti/libcupti.so", "other-vendors"),
    ("deb:dpkg", "usr/share/locale/de/LC_MESSAGES/dpkg.mo", "locales"),
    ("wheel:numpy", f"{SITE}/numpy/linalg/tests/test_linalg.py", "wheel-tests"),
]


def select(part: str) -> Recipe:
    return select_recipe(RECIPES, next(target for name, target in TARGETS.items() if part in name))


def find_rule(recipe: Recipe, owner: str, path: str) -> str:
    """The rule that drops the path, or ""."""
    entry = Entry(path, "file", 0o644, 0, 0, 1, "", "", owner)
    return choose_dropped({path: entry}, recipe.drops).get(path, "")


@pytest.mark.parametrize(("owner", "path"), RUNS)
def test_what_runs_or_compiles_at_run_time_stays(owner: str, path: str) -> None:
    assert find_rule(select("torch-2.8.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx942"), owner, path) == ""


@pytest.mark.parametrize(("owner", "path", "rule"), BUILDS)
def test_what_builds_is_in_the_devel_flavour_only(owner: str, path: str, rule: str) -> None:
    assert find_rule(select("torch-2.8.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx942"), owner, path) == rule
    assert find_rule(select("gfx950-devel"), owner, path) == ""


@pytest.mark.parametrize(("owner", "path", "rule"), NOBODY)
def test_what_nobody_runs_is_in_no_image(owner: str, path: str, rule: str) -> None:
    for name in ("torch-2.8.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx942", "gfx950-devel"):
        assert find_rule(select(name), owner, path) == rule


def test_torch_on_rocm_brings_the_linker_that_triton_runs() -> None:
    for part in ("torch-2.8.0-rocm", "torch-2.7.1-rocm", "jax-0.6.0-rocm7.0.2"):
        assert "rocm-llvm" in select(part).packages


def test_share_rules_are_read_and_selected(tmp_path: Path) -> None:
    (tmp_path / "image.toml").write_text(
        'schema = 1\n[[share]]\nrule = "a"\npaths = ["x/**"]\nwith = ["y/**"]\nkeep = ["x/z"]\nowners = ["wheel:*"]\n'
        'why = "a test"\nwhen = { flavour = ["devel"] }\n'
    )
    ((when, share),) = read_recipe(tmp_path / "image.toml", []).shares
    assert (share.rule, share.paths, share.with_paths, share.keep, share.owners) == (
        "a", ("x/**",), ("y/**",), ("x/z",), ("wheel:*",),
    )  # fmt: skip
    assert when.flavour == ("devel",)
    of_torch = [rule.rule for rule in select("torch-2.8.0-rocm").shares]
    assert of_torch == ["equal-in-wheel", "equal-in-rocm", "rocm-in-torch"]
    assert [rule.rule for rule in select("jax-0.6.2-cpu").shares] == ["equal-in-wheel"]
