"""Published ROCm wheels: slimmed to the sizes we promise, proven, and loaded by the real loader over stubs.

`PYTHONPATH=tests python tests/integration/test_slim_real.py` prints the figures of docs/fatbin.md.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

from fat_files import HOST_ID, entry_id
from recorded_load import build_recorder, load_recorded
from rockiln.console import Console
from rockiln.fatbin.slim_tree import SlimOptions, SlimReport, slim_copy, slim_in_place

pytestmark = [pytest.mark.network, pytest.mark.slow]

WHEELS = (
    "onnxruntime-rocm==1.22.2.post3", "jax_rocm7_pjrt==0.6.0", "jax_rocm7_plugin==0.6.0", "cupy-rocm-7-0==14.2.0",
    "petit-kernel==0.0.5", "bitsandbytes==0.50.2",
)  # fmt: skip
ONNXRUNTIME = "onnxruntime/capi/libonnxruntime_providers_rocm.so"
PJRT = "jax_plugins/xla_rocm7/xla_rocm_plugin.so"
SIZES = {
    (ONNXRUNTIME, "gfx942"): (513_394_976, 88_688_928),
    (PJRT, "gfx942"): (593_061_696, 346_609_472),
    ("cupy/cuda/cub.cpython-312-x86_64-linux-gnu.so", "gfx942"): (152_837_568, 24_083_904),
    ("cupy/cuda/thrust.cpython-312-x86_64-linux-gnu.so", "gfx942"): (80_619_952, 12_298_672),
    ("petit_kernel/ops.cpython-312-x86_64-linux-gnu.so", "gfx942"): (36_130_792, 14_155_752),
    ("bitsandbytes/libbitsandbytes_rocm64.so", "gfx942"): (1_119_504, 439_568),  # CCOB v2
    ("bitsandbytes/libbitsandbytes_rocm72.so", "gfx942"): (1_230_096, 455_952),  # CCOB v3
    ("jax_rocm7_plugin/_solver.so", "gfx942"): (1_205_296, 1_135_664),
}
"""File, arch → bytes before, and bytes after at most."""
SYSTEM_VERSIONS = ("GLIBC", "GLIBCXX", "CXXABI", "GCC", "GOMP")


def install(folder: Path) -> Path:
    """All wheels, as pip installs them, from wherever this machine's pip downloads from."""
    platform = ("--python-version", "3.12", "--only-binary=:all:", "--no-deps", "--no-compile")
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), *platform, *WHEELS]
    subprocess.run(command, check=True)
    return folder


def options(*archs: str) -> SlimOptions:
    return SlimOptions(archs=frozenset(archs), jobs=1)


@dataclass(frozen=True, kw_only=True)
class Slimmed:
    """The installed wheels, and a copy with code for gfx942 only."""

    before: Path
    after: Path
    report: SlimReport


@pytest.fixture(scope="module")
def slimmed(module_path: Path) -> Slimmed:
    before = install(module_path / "site")
    after = before.with_name("slim")
    return Slimmed(before=before, after=after, report=slim_copy(before, after, options("gfx942"), Console(None)))


@pytest.mark.parametrize(("name", "arch"), sorted(SIZES))
def test_sizes_are_as_promised(slimmed: Slimmed, name: str, arch: str) -> None:
    one = next(one for one in slimmed.report.files if one.path == slimmed.after / name)
    before, after = SIZES[name, arch]
    assert (one.outcome, one.reason, list(one.kept)) == ("slimmed", "", [arch])
    assert one.before_bytes == before
    assert one.after_bytes == (slimmed.after / name).stat().st_size <= after


@pytest.mark.parametrize("name", [ONNXRUNTIME, PJRT])
def test_separate_program_proves_the_cut(slimmed: Slimmed, name: str) -> None:
    command = [sys.executable, "-m", "rockiln.fatbin.verify", str(slimmed.before / name), str(slimmed.after / name)]
    proof = subprocess.run([*command, "--archs", "gfx942"], capture_output=True, text=True, check=False)
    assert proof.returncode == 0, proof.stdout
    assert proof.stdout.startswith("proven")


@pytest.mark.parametrize(("name", "modules"), [(ONNXRUNTIME, 95), (PJRT, 35)])
def test_library_loads_and_registers_what_was_kept(
    slimmed: Slimmed, tmp_path: Path, name: str, modules: int
) -> None:
    recorder = make_stubs(slimmed.before / name, tmp_path)
    before, after = (load_recorded(recorder, folder / name, tmp_path) for folder in (slimmed.before, slimmed.after))
    kept = {HOST_ID, entry_id("gfx942")}
    assert len(after["bundles"]) == modules
    assert after["bundles"] == [
        {known: digest for known, digest in bundle.items() if known in kept} for bundle in before["bundles"]
    ]
    assert after["functions"] == before["functions"]
    assert len(after["functions"]) > 1000


def test_records_are_true(slimmed: Slimmed) -> None:
    for record in slimmed.after.glob("*.dist-info/RECORD"):
        for path, digest, size in csv.reader(record.read_text().splitlines()):
            if size and digest and not path.startswith(".."):  # pip --target puts programs elsewhere
                content = (slimmed.after / path).read_bytes()
                hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
                assert (digest, size) == (f"sha256={hashed}", str(len(content))), path
    assert len(slimmed.report.corrected) == len(WHEELS)


def test_second_run_changes_nothing(slimmed: Slimmed) -> None:
    report = slim_in_place(slimmed.after, options("gfx942"), Console(None))
    assert {one.outcome for one in report.files} == {"unchanged"}
    assert report.corrected == ()


def make_stubs(library: Path, folder: Path) -> Path:
    """Empty libraries for what is NEEDED and not here, and a recorder that defines everything they should."""
    with library.open("rb") as file:
        elf = ELFFile(file)
        dynamic = elf.get_section_by_name(".dynamic")
        assert isinstance(dynamic, DynamicSection)
        needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]
        wanted = list(_wanted_symbols(elf))
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    here = dict(re.findall(r"\t(\S+) \(.*x86-64.*\) => (\S+)", listing))
    for soname in needed:
        if soname not in here:
            command = ["cc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", "-xc", "/dev/null", "-o", soname]
            subprocess.run(command, check=True, cwd=folder)
    provided = {name for soname in needed if soname in here for name in _exported_names(here[soname])}
    variables = {name for name, is_variable in wanted if is_variable} - provided
    return build_recorder(folder, {name for name, _ in wanted} - variables - provided, variables)


def _exported_names(path: str) -> set[str]:
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", "--without-symbol-versions", path]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listing.splitlines()}


def _wanted_symbols(elf: ELFFile) -> Iterator[tuple[str, bool]]:
    """(name, is it a variable) of what is undefined and not the C or C++ library's."""
    symbols, versions = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".gnu.version")
    needs = elf.get_section_by_name(".gnu.version_r")
    assert isinstance(symbols, SymbolTableSection)
    assert isinstance(needs, GNUVerNeedSection)
    names = {one["vna_other"]: one.name for _, group in needs.iter_versions() for one in group}
    for number, symbol in enumerate(symbols.iter_symbols()):
        version = names.get(versions.get_symbol(number)["ndx"], "")
        is_wanted = symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] == "STB_GLOBAL" and symbol.name
        if is_wanted and version.partition("_")[0] not in SYSTEM_VERSIONS:
            yield symbol.name, symbol["st_info"]["type"] == "STT_OBJECT" or symbol.name.startswith("_ZT")


def _print_figures() -> None:
    """Sizes, seconds and memory for some choices of archs."""
    with tempfile.TemporaryDirectory() as folder:
        site = install(Path(folder) / "site")
        for archs in (("gfx942",), ("gfx942", "gfx950"), ("gfx1100",)):
            started_s = time.monotonic()
            report = slim_copy(site, Path(folder) / "-".join(archs), options(*archs), Console(None))
            for one in report.files:
                print(archs, one.path.name, one.outcome, one.before_bytes, one.after_bytes, one.missing, one.reason)
            peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"  {time.monotonic() - started_s:.1f} s with the copy, {peak_mb} MB of memory at most")


if __name__ == "__main__":
    _print_figures()
