"""What is not fully understood is left alone, and the reason is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fat_files import HOST_ID, PAGE, FatLibrary, compress_bundle, entry_id, make_bundle
from rockiln.fatbin.slim_file import FileResult, slim_file

FAKE = [(HOST_ID, b""), (entry_id("gfx942"), b"four two" * 900), (entry_id("gfx1100"), b"eleven" * 4000)]
RAW = make_bundle(FAKE)
FAT = FatLibrary(bundles=[RAW, RAW], linker="lld")
STARTS = FAT.starts()


def slim(path: Path) -> FileResult:
    """Slim in place."""
    result = slim_file(path, path, frozenset({"gfx942"}))
    assert result is not None
    return result


def require_refused(path: Path, reason: str) -> None:
    before = path.read_bytes()
    result = slim(path)
    assert result.outcome == "refused"
    assert reason in result.reason
    assert path.read_bytes() == before
    assert result.before_bytes == result.after_bytes == len(before)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_library_without_a_fault_is_slimmed(tmp_path: Path) -> None:
    assert slim(FAT.build(tmp_path / "libfat.so")).outcome == "slimmed"


EXTRA = '.section .data.rel.ro,"aw"\n.quad .Lfat+{place}\n'
SYMBOL = '.section .hip_fatbin\n.type bundle,@object\n.globl bundle\n.set bundle, .Lfat+{place}\n.size bundle, {size}\n'


@pytest.mark.parametrize(
    ("fat", "reason"),
    [
        (FAT.replaced(wrapped=STARTS[:1]), "1 bundles without a wrapper"),
        (FAT.replaced(wrapped=[*STARTS, STARTS[1] + 8]), "leads to no bundle's start"),
        (FAT.replaced(wrapped=[*STARTS, 1 << 22]), "leads nowhere"),
        (FAT.replaced(wrapped=[]), "2 bundles without a wrapper"),
        (FAT.replaced(magic=0x4849504B), "kpack"),
        (FAT.replaced(magic=0x12345678), "unknown magic"),
        (FAT.replaced(bundles=[RAW, b"junk" * 100]), "unknown bytes"),
        (FAT.replaced(bundles=[RAW, b"\0" * 90 + b"x"]), "unknown bytes"),
        (FAT.replaced(bundles=[RAW, RAW[:-PAGE]]), "goes beyond its section"),
        (FAT.replaced(bundles=[RAW, compress_bundle(RAW, 3)[:-2]]), "compressed bundle"),
        (FAT.replaced(bundles=[RAW, compress_bundle(b"no bundle" * 99, 3)]), "no bundle"),
        (FAT.replaced(bundles=[RAW, compress_bundle(RAW + b"x", 3)]), "unknown bytes behind"),
        (FAT.replaced(bundles=[make_bundle([FAKE[0], FAKE[2]])]), "no code for any"),
        (FAT.replaced(bundles=[RAW, make_bundle([FAKE[2]])]), "without a host entry"),
        (FAT.replaced(extra_assembly=EXTRA.format(place=STARTS[1])), "1 other pointers lead"),
        (FAT.replaced(extra_assembly=EXTRA.format(place=STARTS[1] + 77)), "1 other pointers lead"),
        (FAT.replaced(extra_assembly=SYMBOL.format(place=8, size=0)), "middle of a bundle"),
        (FAT.replaced(extra_assembly=SYMBOL.format(place=0, size=5)), "size is not that of its bundle"),
        (FAT.replaced(link_flags=("-Wl,--emit-relocs",)), "static relocations"),
        (FAT.replaced(link_flags=("-Wl,-z,rel",)), "unusual format"),
        (FAT.replaced(link_flags=("-Wl,--pack-dyn-relocs=android",)), "unusual format"),
        (FAT.replaced(linker="bfd", link_flags=("-Wl,--build-id=none",)), "no program header can be spared"),
    ],
)
def test_library_is_left_alone(tmp_path: Path, fat: FatLibrary, reason: str) -> None:
    require_refused(fat.build(tmp_path / "libfat.so"), reason)


def test_bundle_that_two_wrappers_lead_to_is_slimmed(tmp_path: Path) -> None:
    fat = FAT.replaced(wrapped=[*STARTS, STARTS[0]])
    assert slim(fat.build(tmp_path / "libfat.so")).outcome == "slimmed"


def test_symbols_of_bundles_move_with_them(tmp_path: Path) -> None:
    fat = FAT.replaced(extra_assembly=SYMBOL.format(place=STARTS[1], size=len(RAW)))
    path = fat.build(tmp_path / "libfat.so")
    assert slim(path).outcome == "slimmed"
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as file:
        elf = ELFFile(file)
        section = elf.get_section_by_name(".hip_fatbin")
        symbol = elf.get_section_by_name(".dynsym").get_symbol_by_name("bundle")[0]
        assert symbol["st_value"] == section["sh_addr"] + 3 * PAGE
        assert symbol["st_value"] + symbol["st_size"] == section["sh_addr"] + section["sh_size"]


@pytest.mark.parametrize("cut", [64, 4096, 60_000])
def test_cut_short_file_is_refused_or_none(tmp_path: Path, cut: int) -> None:
    path = FAT.build(tmp_path / "libfat.so")
    path.write_bytes(path.read_bytes()[:-cut])
    require_refused(path, "the file ends before")


def _overlap(content: bytearray) -> None:
    """The second entry of the first bundle starts in the first."""
    place = content.index(b"__CLANG_OFFLOAD_BUNDLE__") + 32 + 2 * 24 + len(HOST_ID) + len(entry_id("gfx942"))
    content[place : place + 8] = (PAGE + 8).to_bytes(8, "little")


def _hide_bundle(content: bytearray) -> None:
    place = content.rindex(b"__CLANG_OFFLOAD_BUNDLE__")
    content[place] ^= 1


@pytest.mark.parametrize(("damage", "reason"), [(_overlap, "overlap"), (_hide_bundle, "unknown bytes")])
def test_damaged_file_is_left_alone(tmp_path: Path, damage: Callable[[bytearray], None], reason: str) -> None:
    path = FAT.build(tmp_path / "libfat.so")
    content = bytearray(path.read_bytes())
    damage(content)
    path.write_bytes(content)
    require_refused(path, reason)


def test_file_with_less_than_a_page_to_give_is_unchanged(tmp_path: Path) -> None:
    raw = make_bundle([FAKE[0], FAKE[1], (entry_id("gfx1100"), b"small")])
    path = FAT.replaced(bundles=[compress_bundle(raw, 3)]).build(tmp_path / "libfat.so")
    before = path.read_bytes()
    result = slim(path)
    assert (result.outcome, result.reason) == ("unchanged", "no whole page would be freed")
    assert path.read_bytes() == before


def test_file_that_another_process_slims_is_left_alone(tmp_path: Path) -> None:
    import fcntl

    from rockiln.fatbin.write_cut import partial_path

    path = FAT.build(tmp_path / "libfat.so")
    with partial_path(path).open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert slim(path).reason == "another process is slimming this file"
        assert partial_path(path).exists()
    assert slim(path).outcome == "slimmed"
    assert not partial_path(path).exists()
