"""The loader that judges cut and verifier in fuzzing finds good what is good, and bad what is bad."""

from __future__ import annotations

import struct
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from fat_files import FatLibrary, bundle_for
from fuzz.loader_model import judge, judge_bundle
from rockiln.fatbin.slim_file import slim_file

ARCHS = frozenset({"gfx942"})
MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"


@pytest.fixture(scope="module")
def pair(built: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A library before and after."""
    path = tmp_path_factory.mktemp("slimmed") / "slim.so"
    slim_file(built, path, ARCHS)
    return built.read_bytes(), path.read_bytes()


def _offset(content: bytes, name: str) -> int:
    return int(ELFFile(BytesIO(content)).get_section_by_name(name)["sh_offset"])


def flip_text(content: bytearray) -> None:
    content[_offset(content, ".text") + 9] ^= 1


def flip_code_object(content: bytearray) -> None:
    content[content.index(MAGIC) + 4096 + 2000] ^= 1


def rename_entry(content: bytearray) -> None:
    place = content.index(b"gfx942", content.index(MAGIC))
    content[place : place + 6] = b"gfx950"


def break_wrapper(content: bytearray) -> None:
    content[_offset(content, ".hipFatBinSegment")] ^= 1


def lead_elsewhere(content: bytearray) -> None:
    rows, fat = _offset(content, ".rela.dyn"), _offset(content, ".hip_fatbin")
    target = struct.pack("<Q", fat)
    place = next(place for place in range(rows, len(content), 8) if content[place : place + 8] == target)
    struct.pack_into("<Q", content, place, fat + 64)


def write_code(content: bytearray) -> None:
    start, count = struct.unpack_from("<Q", content, 32)[0], struct.unpack_from("<H", content, 56)[0]
    rows = range(start, start + 56 * count, 56)
    place = next(place for place in rows if struct.unpack_from("<II", content, place) == (1, 5))
    struct.pack_into("<I", content, place + 4, 7)


def cut_short(content: bytearray) -> None:
    del content[_offset(content, ".text") :]


DAMAGES = [flip_text, flip_code_object, rename_entry, break_wrapper, lead_elsewhere, write_code, cut_short]


def test_good_cut_is_good(pair: tuple[bytes, bytes]) -> None:
    assert judge(*pair, ARCHS) == ""


def test_uncut_library_is_not_the_cut_one(pair: tuple[bytes, bytes]) -> None:
    assert "code objects" in judge(pair[0], pair[0], ARCHS)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_found(pair: tuple[bytes, bytes], damage: Callable[[bytearray], None]) -> None:
    content = bytearray(pair[1])
    damage(content)
    assert judge(pair[0], bytes(content), ARCHS)


def test_programs_and_relative_relocations_are_judged_too(library: FatLibrary, tmp_path: Path) -> None:
    flags = ("-Wl,-z,pack-relative-relocs",)
    path = library.replaced(linker="bfd", link_flags=flags).build(tmp_path / "libfat.so")
    slim_file(path, tmp_path / "slim.so", ARCHS)
    assert judge(path.read_bytes(), (tmp_path / "slim.so").read_bytes(), ARCHS) == ""


def test_bundle_without_a_kept_object_is_bad() -> None:
    both, one = bundle_for(["gfx942", "gfx1100"]), bundle_for(["gfx942"])
    assert judge_bundle(both, one, ARCHS) == ""
    assert judge_bundle(both, one[:-100], ARCHS)
    assert judge_bundle(both, both, ARCHS) == "other code objects"
