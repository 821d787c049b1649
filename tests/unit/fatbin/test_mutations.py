"""Thousands of damaged libraries: each is refused, unchanged, or cut and proven; nothing else comes out."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from fat_files import HOST_ID, FatLibrary, compress_bundle, entry_id, make_bundle
from rockiln.fatbin.slim_file import slim_file

ARCHS = frozenset({"gfx942"})
RAW = make_bundle([(HOST_ID, b""), (entry_id("gfx942"), b"a" * 300), (entry_id("gfx1100"), b"b" * 5000)])
INTERESTING = (0, 1, 7, 0x7F, 0x80, 0xFF)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Small files of both kinds."""
    folder = tmp_path_factory.mktemp("seeds")
    fat = FatLibrary(bundles=[RAW, compress_bundle(RAW, 3), RAW], linker="lld", link_flags=("-Wl,--strip-all",))
    relr = fat.replaced(linker="bfd", link_flags=("-Wl,-z,pack-relative-relocs", "-Wl,--build-id"))
    built = [fat.build(folder / "one.so"), relr.build(folder / "two.so")]
    return [path.read_bytes() for path in built]


def mutate(seed: bytes, random: Random) -> bytes:
    """A few bytes changed where it matters, or the file cut or lengthened."""
    content = bytearray(seed)
    places = [0, 64, *_occurrences(seed, b"__CLANG"), *_occurrences(seed, b"CCOB"), *_occurrences(seed, b"FPIH")]
    places += [len(seed) - 64 * number for number in range(1, 40)]
    for _ in range(random.choice((1, 1, 2, 4))):
        place = min(len(seed) - 1, random.choice(places) + random.randrange(600))
        if random.random() < 0.7:
            content[place] = random.choice(INTERESTING) if random.random() < 0.5 else random.randrange(256)
        else:
            content[place : place + 8] = random.randbytes(8)[: len(content) - place]
    if random.random() < 0.05:
        del content[random.randrange(len(content)) :]
    return bytes(content)


def _occurrences(content: bytes, text: bytes) -> list[int]:
    places, place = [], content.find(text)
    while place >= 0:
        places.append(place)
        place = content.find(text, place + 1)
    return places


@pytest.mark.parametrize("part", range(4))
def test_damaged_libraries_are_read_without_a_crash(seeds: list[bytes], tmp_path: Path, part: int) -> None:
    random = Random(part)  # noqa: S311 - the same files in every run
    outcomes = set()
    path = tmp_path / "damaged.so"
    for number in range(600):
        path.write_bytes(mutate(seeds[number % 2], random))
        result = slim_file(path, path, ARCHS, dry_run=True)
        outcomes.add(result.outcome if result else "no device code")
    assert outcomes >= {"refused", "slimmed"}


def test_damaged_libraries_are_cut_only_if_proven(seeds: list[bytes], tmp_path: Path) -> None:
    random = Random(99)  # noqa: S311 - the same files in every run
    path = tmp_path / "damaged.so"
    for number in range(300):
        content = mutate(seeds[number % 2], random)
        path.write_bytes(content)
        result = slim_file(path, path, ARCHS)
        if result is None or result.outcome != "slimmed":
            assert path.read_bytes() == content
        else:
            assert path.stat().st_size == result.after_bytes < len(content)
        assert [one.name for one in tmp_path.iterdir()] == ["damaged.so"]
