"""What the fuzzers found, each made again here: a refusal or a fault, never an exception or minutes of work."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from fat_files import HOST_ID, FatLibrary, compress_bundle, entry_id, make_bundle
from rockiln.fatbin.slim_file import slim_file
from rockiln.fatbin.verify import objects
from rockiln.fatbin.verify.database_files import verify_database_files
from rockiln.fatbin.verify.files import verify_files

ARCHS = frozenset({"gfx942"})
RAW = make_bundle([(HOST_ID, b""), (entry_id("gfx942"), b"four two" * 900), (entry_id("gfx1100"), b"eleven" * 4000)])
COMPRESSED = FatLibrary(bundles=[compress_bundle(RAW, 3), RAW], linker="lld")


def section_header(content: bytes, name: str) -> int:
    """Offset of a section's header."""
    elf = ELFFile(BytesIO(content))
    number = next(number for number, one in enumerate(elf.iter_sections()) if one.name == name)
    return int(elf["e_shoff"]) + 64 * number


def lead_dynamic_to_no_strings(content: bytearray) -> None:
    """pyelftools asserts that sh_link of .dynamic is a string table."""
    struct.pack_into("<I", content, section_header(content, ".dynamic") + 40, 1)


def damage_compressed_bytes(content: bytearray) -> None:
    place = content.index(b"CCOB") + 60
    content[place : place + 8] = b"\xff" * 8


def claim_less_when_unpacked(content: bytearray) -> None:
    struct.pack_into("<Q", content, content.index(b"CCOB") + 16, 9)


def end_before_the_second_bundle(content: bytearray) -> None:
    """Its wrapper leads beyond sh_size, so less than nothing is left to read."""
    struct.pack_into("<Q", content, section_header(content, ".hip_fatbin") + 32, 4000)


@pytest.mark.parametrize(
    "damage",
    [lead_dynamic_to_no_strings, damage_compressed_bytes, claim_less_when_unpacked, end_before_the_second_bundle],
    ids=lambda one: one.__name__,
)
def test_verifier_has_a_word_for_damaged_files(tmp_path: Path, damage: Callable[[bytearray], None]) -> None:
    content = bytearray(COMPRESSED.build(tmp_path / "libfat.so").read_bytes())
    damage(content)
    (tmp_path / "damaged.so").write_bytes(content)
    with (tmp_path / "damaged.so").open("rb") as file:
        faults = verify_files(file.fileno(), file.fileno(), ARCHS).faults
    assert "cannot be read" in faults[-1]


def test_segment_that_is_smaller_in_memory_is_refused(tmp_path: Path) -> None:
    path = FatLibrary(bundles=[RAW, RAW], linker="lld").build(tmp_path / "libfat.so")
    content = bytearray(path.read_bytes())
    offset = ELFFile(BytesIO(content)).get_section_by_name(".hip_fatbin")["sh_offset"]
    start, count = struct.unpack_from("<Q", content, 32)[0], struct.unpack_from("<H", content, 56)[0]
    for place in range(start, start + 56 * count, 56):
        kind, _, first, _, _, size = struct.unpack_from("<IIQQQQ", content, place)
        if kind == 1 and first <= offset < first + size:
            struct.pack_into("<Q", content, place + 40, 100)
    path.write_bytes(content)
    result = slim_file(path, path, ARCHS)
    assert result is not None
    assert result.reason == "a segment is larger in the file than in memory"


def test_wrappers_beyond_the_end_of_the_file_are_refused(tmp_path: Path) -> None:
    """A program that is not relocated has its pointers in .hipFatBinSegment; its segment's p_offset says where."""
    main = ".text\n.globl main\nmain: ret\n"
    program = FatLibrary(bundles=[RAW, RAW], is_program=True, link_flags=("-no-pie",), extra_assembly=main)
    path = program.build(tmp_path / "fat")
    content = bytearray(path.read_bytes())
    address = ELFFile(BytesIO(content)).get_section_by_name(".hipFatBinSegment")["sh_addr"]
    start, count = struct.unpack_from("<Q", content, 32)[0], struct.unpack_from("<H", content, 56)[0]
    for place in range(start, start + 56 * count, 56):
        kind, _, _, first, _, size = struct.unpack_from("<IIQQQQ", content, place)
        if kind == 1 and first <= address < first + size:
            content[place + 15] = 0xFF
    path.write_bytes(content)
    result = slim_file(path, path, ARCHS)
    assert result is not None
    assert result.reason == "a segment goes beyond the end of the file"


def test_database_whose_names_are_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE cache_v1 (arch TEXT, code BLOB)")
        connection.execute("CREATE TABLE another (arch TEXT)")
        connection.commit()
    path.write_bytes(path.read_bytes().replace(b"another", b"an\x9cther"))
    result = slim_file(path, path, ARCHS, form="database")
    assert result is not None
    assert "a database that cannot be read" in result.reason


def test_database_whose_fault_is_no_text_is_refused(tmp_path: Path) -> None:
    """SQLite quotes the damaged statement in its message; about a long one sqlite3 raises a MemoryError."""
    path = tmp_path / "cache.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 512")
        connection.execute(
            "CREATE TABLE cache_v1 (kernel_name TEXT NOT NULL, arch TEXT NOT NULL, hip_version INTEGER NOT NULL, "
            "generator_sum BLOB NOT NULL, code BLOB NOT NULL, timestamp INTEGER NOT NULL, "
            "PRIMARY KEY (kernel_name, arch, hip_version, generator_sum))"
        )
        connection.commit()
    content = bytearray(path.read_bytes())
    place = content.rindex(b"NULL") + 3
    content[place : place + 74] = b"\xff" * 74
    path.write_bytes(content)
    result = slim_file(path, path, ARCHS, form="database")
    assert result is not None
    assert "a database that cannot be read" in result.reason
    with path.open("rb") as file:
        assert "cannot be read" in verify_database_files(file.fileno(), file.fileno(), ARCHS).faults[0]


def test_bundle_of_many_wrappers_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """librccl has 76 wrappers of one bundle, 1.2 GB when unpacked."""
    unpacked, unpack = [], objects._unpack

    def count(descriptor: int, offset: int, *others: object) -> int:
        unpacked.append(offset)
        return unpack(descriptor, offset, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(objects, "_unpack", count)
    fat = COMPRESSED.replaced(wrapped=[*COMPRESSED.starts(), 0, 0, 0]).build(tmp_path / "libfat.so")
    result = slim_file(fat, tmp_path / "slim.so", ARCHS)
    assert result is not None
    assert result.outcome == "slimmed", result.reason
    assert len(unpacked) == 2  # the old one and the new one
