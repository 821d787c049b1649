"""Fat libraries as clang makes them from HIP sources: raw and compressed, a bundle a source or one for all."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fat_files import entry_id, find_clang
from recorded_load import build_recorder, load_recorded
from rockiln.fatbin.slim_file import slim_file

SOURCE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, void * = 0);
__device__ int NAME(counter) = 3;
__global__ void NAME(kernel)(float *p) { *p = *p * 2 + NAME(counter); }
"""
MAIN_SOURCE = """
extern "C" int answer(int x) { return x + 42; }
extern "C" const char *get_text() { return "still here"; }
"""
TARGETS = ("gfx90a:xnack+", "gfx90a:xnack-", "gfx942", "gfx1100", "gfx11-generic", "gfx1030")
OFFLOAD = ("-nogpulib", "-mcode-object-version=6", *(f"--offload-arch={target}" for target in TARGETS))


@pytest.fixture(scope="module")
def clang() -> str:
    """A clang with its bundler."""
    found = find_clang()
    version = found.removeprefix("clang")
    if not shutil.which(f"clang-offload-bundler{version}"):
        pytest.skip(f"no clang-offload-bundler{version} is here: apt-get install clang-tools{version}")
    return found


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    functions = ("hipLaunchKernel", "__hipPushCallConfiguration", "__hipPopCallConfiguration")
    return build_recorder(tmp_path_factory.mktemp("recorder"), functions)


def build(clang: str, folder: Path, packing: str, linker: str, *, rdc: bool) -> Path:
    """Two sources, one library."""
    environ = {**os.environ, "COMPRESSED_BUNDLE_FORMAT_VERSION": packing[-1]}
    offload = (*OFFLOAD, "-fgpu-rdc") if rdc else OFFLOAD
    compress = () if packing == "raw" else ("--offload-compress",)
    for name in ("one", "two"):
        text = SOURCE.replace("NAME(", f"{name}_(").replace("_(kernel)", "_kernel").replace("_(counter)", "_counter")
        (folder / f"{name}.hip").write_text(text + (MAIN_SOURCE if name == "one" else ""))
        flags = ("-x", "hip", "-O2", "-fPIC", "-w", "-nogpuinc", *offload, *compress)
        command = [clang, *flags, "-c", f"{name}.hip", "-o", f"{name}.o"]
        subprocess.run(command, check=True, cwd=folder, env=environ)
    link = ("--hip-link", "-no-hip-rt", *offload) if rdc else ()
    command = [clang, "-shared", f"-fuse-ld={linker}", *link, "one.o", "two.o", "-o", "libfat.so"]
    subprocess.run(command, check=True, cwd=folder, env=environ)
    return folder / "libfat.so"


@pytest.mark.parametrize("linker", ["lld", "bfd"])
@pytest.mark.parametrize("packing", ["raw", "ccob-2", "ccob-3"])
def test_library_of_two_sources(clang: str, recorder: Path, tmp_path: Path, packing: str, linker: str) -> None:
    fat = build(clang, tmp_path, packing, linker, rdc=False)
    require_slim(fat, recorder, bundles=2)


def test_relocatable_device_code_has_one_bundle_for_all(clang: str, recorder: Path, tmp_path: Path) -> None:
    fat = build(clang, tmp_path, "raw", "lld", rdc=True)
    require_slim(fat, recorder, bundles=1)


def require_slim(fat: Path, recorder: Path, bundles: int) -> None:
    slim = fat.with_name("slim.so")
    result = slim_file(fat, slim, frozenset({"gfx90a", "gfx1101"}))
    assert result is not None
    if result.outcome == "unchanged":  # tiny kernels compress to nothing
        assert result.reason == "no whole page would be freed"
        return
    assert (result.outcome, result.reason) == ("slimmed", "")
    kept = {entry_id(target) for target in ("gfx90a:xnack+", "gfx90a:xnack-", "gfx11-generic")}
    before, after = load_recorded(recorder, fat), load_recorded(recorder, slim)
    assert len(after["bundles"]) == bundles
    for old, new in zip(before["bundles"], after["bundles"], strict=True):
        assert new == {name: digest for name, digest in old.items() if name in kept or name.startswith("host")}
        assert kept <= new.keys()
    assert after["functions"] == before["functions"] != []
    assert after["answer"] == 43
