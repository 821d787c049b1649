"""Thousands of damaged libraries: each is refused, unchanged, or cut and proven; nothing else comes out."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from damage import damage
from fat_files import HOST_ID, FatLibrary, compress_bundle, entry_id, make_bundle
from rockiln.fatbin.slim_file import slim_file

ARCHS = frozenset({"gfx942"})
RAW = make_bundle([(HOST_ID, b""), (entry_id("gfx942"), b"a" * 300), (entry_id("gfx1100"), b"b" * 5000)])


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Small files of both kinds."""
    folder = tmp_path_factory.mktemp("seeds")
    fat = FatLibrary(bundles=[RAW, compress_bundle(RAW, 3), RAW], linker="lld", link_flags=("-Wl,--strip-all",))
    relr = fat.replaced(linker="bfd", link_flags=("-Wl,-z,pack-relative-relocs", "-Wl,--build-id"))
    built = [fat.build(folder / "one.so"), relr.build(folder / "two.so")]
    return [path.read_bytes() for path in built]


@pytest.mark.parametrize("part", range(4))
def test_damaged_libraries_are_read_without_a_crash(seeds: list[bytes], tmp_path: Path, part: int) -> None:
    random = Random(part)  # noqa: S311 - the same files in every run
    outcomes = set()
    path = tmp_path / "damaged.so"
    for number in range(600):
        path.write_bytes(damage(seeds[number % 2], random))
        result = slim_file(path, path, ARCHS, dry_run=True)
        outcomes.add(result.outcome if result else "no device code")
    assert outcomes >= {"refused", "slimmed"}


def test_damaged_libraries_are_cut_only_if_proven(seeds: list[bytes], tmp_path: Path) -> None:
    random = Random(99)  # noqa: S311 - the same files in every run
    path = tmp_path / "damaged.so"
    for number in range(300):
        content = damage(seeds[number % 2], random)
        path.write_bytes(content)
        result = slim_file(path, path, ARCHS)
        if result is None or result.outcome != "slimmed":
            assert path.read_bytes() == content
        else:
            assert path.stat().st_size == result.after_bytes < len(content)
        assert [one.name for one in tmp_path.iterdir()] == ["damaged.so"]
