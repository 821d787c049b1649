"""One library: what is kept is what was there, it loads, and nothing changes twice."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fat_files import HOST_ID, FatLibrary, bundle_for, compress_bundle, entry_id
from recorded_load import load_recorded
from rockiln.fatbin.slim_file import FileResult, slim_file

RELR = ("-Wl,-z,pack-relative-relocs",)


def slim(path: Path, output_path: Path, *archs: str) -> FileResult:
    result = slim_file(path, output_path, frozenset(archs))
    assert result is not None
    return result


def require_slimmed(old: Path, new: Path, recorder: Path, kept: set[str]) -> None:
    """The new file registers the old one's objects of the targets `kept`, and its own code still works."""
    before, after = load_recorded(recorder, old), load_recorded(recorder, new)
    assert after["bundles"] == [_choose(bundle, kept) for bundle in before["bundles"]]
    assert (after["answer"], after["text"]) == (43, "still here")


def _choose(bundle: Mapping[str, Any], kept: set[str]) -> dict[str, str]:
    ids = {HOST_ID, *map(entry_id, kept)}
    return {name: digest for name, digest in bundle.items() if name in ids}


@pytest.mark.parametrize("flags", ["a", "aw", "ax"])
@pytest.mark.parametrize(
    ("linker", "link_flags"), [("lld", ()), ("lld", RELR), ("bfd", ()), ("bfd", RELR), ("gold", ())]
)
def test_library_of_each_linker_loads_with_what_was_kept(
    library: FatLibrary, recorder: Path, tmp_path: Path, flags: str, linker: str, link_flags: tuple[str, ...]
) -> None:
    fat = library.replaced(linker=linker, section_flags=flags, link_flags=link_flags).build(tmp_path / "libfat.so")
    result = slim(fat, tmp_path / "slim.so", "gfx942")
    assert result.outcome == "slimmed", result.reason
    assert result.after_bytes == (tmp_path / "slim.so").stat().st_size <= result.before_bytes - 10 * 4096
    require_slimmed(fat, tmp_path / "slim.so", recorder, {"gfx942"})


def test_section_at_the_end_of_its_segment_needs_no_split(
    library: FatLibrary, recorder: Path, tmp_path: Path
) -> None:
    fat = library.replaced(linker="bfd", section_flags="aw", link_flags=("-Wl,--section-start=.hip_fatbin=0x800000",))
    slim(fat.build(tmp_path / "libfat.so"), tmp_path / "slim.so", "gfx942")
    segments = [_count_loads(tmp_path / name) for name in ("libfat.so", "slim.so")]
    assert segments[0] == segments[1]
    require_slimmed(tmp_path / "libfat.so", tmp_path / "slim.so", recorder, {"gfx942"})


def _count_loads(path: Path) -> int:
    listing = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    return sum(line.split()[:1] == ["LOAD"] for line in listing.splitlines())


@pytest.mark.parametrize("kind", ["-no-pie", "-pie"])
def test_program_still_runs(library: FatLibrary, tmp_path: Path, kind: str) -> None:
    main = ".globl main\n.text\nmain: movl $3,%eax\nret"
    fat = library.replaced(link_flags=(kind,), extra_assembly=main, linker="bfd", is_program=True)
    fat = fat.build(tmp_path / "program")
    result = slim(fat, tmp_path / "slim", "gfx942")
    assert result.outcome == "slimmed", result.reason
    assert subprocess.run([tmp_path / "slim"], check=False).returncode == 3


def test_variants_and_generics_of_an_arch_are_kept(built: Path, recorder: Path, tmp_path: Path) -> None:
    slim(built, tmp_path / "90a.so", "gfx90a")
    require_slimmed(built, tmp_path / "90a.so", recorder, {"gfx90a:xnack+", "gfx90a:xnack-"})
    result = slim(built, tmp_path / "1101.so", "gfx1101", "gfx942")
    require_slimmed(built, tmp_path / "1101.so", recorder, {"gfx11-generic", "gfx942"})
    assert list(result.kept) == ["gfx11-generic", "gfx942"]
    assert result.missing == ()


def test_arch_that_the_file_never_held_is_named(built: Path, tmp_path: Path) -> None:
    assert slim(built, tmp_path / "slim.so", "gfx942", "gfx950").missing == ("gfx950",)


@pytest.mark.parametrize(("version", "method"), [(1, "zstd"), (2, "zstd"), (3, "zstd"), (2, "zlib")])
def test_compressed_bundles_stay_compressed(
    library: FatLibrary, recorder: Path, tmp_path: Path, version: int, method: str
) -> None:
    noise = [bundle_for(["gfx942", "gfx1100"], 2), *(_with_noise(number) for number in range(2))]
    compressed = [compress_bundle(raw, version, method) for raw in noise]
    fat = library.replaced(bundles=compressed).build(tmp_path / "libfat.so")
    result = slim(fat, tmp_path / "slim.so", "gfx942")
    assert result.outcome == "slimmed", result.reason
    assert result.before_bytes - result.after_bytes >= 2 * 65536
    assert (tmp_path / "slim.so").read_bytes().count(b"CCOB" + bytes([version, 0])) == 3
    require_slimmed(fat, tmp_path / "slim.so", recorder, {"gfx942"})


def _with_noise(seed: int) -> bytes:
    from random import Random

    from fat_files import make_bundle

    noise = Random(seed).randbytes(70_000)  # noqa: S311 - only incompressible
    return make_bundle([(HOST_ID, b""), (entry_id("gfx942"), b"small"), (entry_id("gfx1100"), noise)])


def test_second_run_changes_nothing(built: Path, tmp_path: Path) -> None:
    slim(built, tmp_path / "slim.so", "gfx942")
    before = (tmp_path / "slim.so").stat()
    result = slim(tmp_path / "slim.so", tmp_path / "slim.so", "gfx942")
    assert (result.outcome, result.dropped) == ("unchanged", {})
    after = (tmp_path / "slim.so").stat()
    assert (after.st_ino, after.st_ctime_ns) == (before.st_ino, before.st_ctime_ns)


def test_slimmed_file_can_be_slimmed_further(built: Path, recorder: Path, tmp_path: Path) -> None:
    slim(built, tmp_path / "first.so", "gfx942", "gfx1100")
    result = slim(tmp_path / "first.so", tmp_path / "second.so", "gfx942")
    assert result.outcome == "slimmed"
    direct = slim(built, tmp_path / "direct.so", "gfx942")
    assert result.after_bytes - direct.after_bytes in {0, 4096}  # the padding of a cut stays
    require_slimmed(built, tmp_path / "second.so", recorder, {"gfx942"})


def test_same_input_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    slim(built, tmp_path / "one.so", "gfx942")
    (tmp_path / "elsewhere").mkdir()
    slim(built, tmp_path / "elsewhere" / "two.so", "gfx942")
    assert (tmp_path / "one.so").read_bytes() == (tmp_path / "elsewhere" / "two.so").read_bytes()


def test_new_file_has_mode_and_time_of_the_old_one(built: Path, tmp_path: Path) -> None:
    path = tmp_path / "libfat.so"
    path.write_bytes(built.read_bytes())
    path.chmod(0o2751)
    os.utime(path, ns=(5_000_000_000, 7_000_000_123))
    slim(path, path, "gfx942")
    assert path.stat().st_mode & 0o7777 == 0o2751
    assert path.stat().st_mtime_ns == 7_000_000_123
    assert [one.name for one in tmp_path.iterdir()] == ["libfat.so"]


def test_dry_run_tells_the_size_and_writes_nothing(built: Path, tmp_path: Path) -> None:
    result = slim_file(built, tmp_path / "slim.so", frozenset({"gfx942"}), dry_run=True)
    assert not list(tmp_path.iterdir())
    assert result == slim(built, tmp_path / "slim.so", "gfx942")


def test_stripping_afterwards_leaves_a_file_that_loads(library: FatLibrary, recorder: Path, tmp_path: Path) -> None:
    for linker in ("lld", "bfd"):
        fat = library.replaced(linker=linker).build(tmp_path / f"{linker}.so")
        new = tmp_path / f"{linker}-slim.so"
        slim(fat, new, "gfx942")
        subprocess.run(["strip", "--strip-unneeded", new], check=True)
        require_slimmed(fat, new, recorder, {"gfx942"})


def test_file_without_device_code_is_none(tmp_path: Path, recorder: Path) -> None:
    assert slim_file(recorder, tmp_path / "out", frozenset({"gfx942"})) is None
    for content in (b"", b"\x7fELF", b"text" * 5000):
        (tmp_path / "file").write_bytes(content)
        assert slim_file(tmp_path / "file", tmp_path / "out", frozenset({"gfx942"})) is None
    assert not (tmp_path / "out").exists()


def test_debug_file_without_the_section_s_bytes_is_none(built: Path, tmp_path: Path) -> None:
    subprocess.run(["objcopy", "--only-keep-debug", built, tmp_path / "libfat.debug"], check=True)
    assert slim_file(tmp_path / "libfat.debug", tmp_path / "out", frozenset({"gfx942"})) is None
