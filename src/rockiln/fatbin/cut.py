"""An open ELF file + the archs to keep → Cut: everything that the smaller file is made of, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import BinaryIO

from rockiln.fatbin.agreement import PAGE_BYTES, FatBinary, find_fat_section, read_fat_binary
from rockiln.fatbin.bundle import align_up
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.elf import (
    SECTION_HEADERS_AT,
    SHT_NOBITS,
    Elf,
    Section,
    read_elf,
)
from rockiln.fatbin.refusal import require
from rockiln.fatbin.repack import NewBundle, Piece, Repacker, Span, holds_code
from rockiln.fatbin.segments import Removal, remove_pages


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Bytes written over the new file."""

    offset: int
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The new file as pieces in order, then patches. `pieces` is empty where the file stays as it is."""

    bundles: tuple[NewBundle, ...]
    before_bytes: int
    after_bytes: int
    pieces: tuple[Piece, ...] = ()
    patches: tuple[Patch, ...] = ()


def plan_cut(source: ByteSource, archs: AbstractSet[str], spool: BinaryIO) -> Cut | None:
    """What to write; None for a file without device code. Raises RefusedError for one that is not understood."""
    elf = read_elf(source)
    section = find_fat_section(elf) if elf else None
    if elf is None or section is None:
        return None
    fat = read_fat_binary(elf, section)
    repacker = Repacker(source, archs, spool, fat.bundles)
    bundles = tuple(repacker.repack(bundle) for bundle in fat.bundles)
    require(any(holds_code(bundle.kept) for bundle in bundles), "holds no code for any of the archs")
    places, used_bytes = _place(bundles)
    removal = remove_pages(elf, section, used_bytes) if any(bundle.is_changed for bundle in bundles) else None
    if removal is None:
        return Cut(bundles=bundles, before_bytes=source.size_bytes, after_bytes=source.size_bytes)
    return Cut(
        bundles=bundles,
        before_bytes=source.size_bytes,
        after_bytes=source.size_bytes - removal.size_bytes,
        pieces=tuple(_pieces(source, section, bundles, places, removal)),
        patches=(*_header_patches(elf, section, used_bytes, removal), *_pointer_patches(fat, bundles, places, removal)),
    )


def _place(bundles: Iterable[NewBundle]) -> tuple[tuple[int, ...], int]:
    """Offset of each bundle in the section, and how much of the section is used."""
    places = []
    place = 0
    for bundle in bundles:
        place = align_up(place, PAGE_BYTES)
        places.append(place)
        place += bundle.size_bytes
    return tuple(places), place


def _pieces(
    source: ByteSource, section: Section, bundles: Iterable[NewBundle], places: Iterable[int], removal: Removal
) -> Iterator[Piece]:
    yield Span(source=source, start=0, size_bytes=section.offset)
    end = 0
    for bundle, place in zip(bundles, places, strict=True):
        yield bytes(place - end)
        yield from bundle.pieces
        end = place + bundle.size_bytes
    yield bytes(removal.start - section.offset - end)
    yield bytes(section.end - removal.end)
    yield Span(source=source, start=section.end, size_bytes=source.size_bytes - section.end)


def _header_patches(elf: Elf, section: Section, used_bytes: int, removal: Removal) -> Iterator[Patch]:
    sections_offset = removal.moved(elf.sections_offset)
    yield Patch(offset=SECTION_HEADERS_AT, content=sections_offset.to_bytes(8, "little"))
    yield Patch(offset=elf.segments_offset, content=b"".join(segment.encode() for segment in removal.segments))
    sections = (_move_section(other, section, used_bytes, removal) for other in elf.sections)
    yield Patch(offset=sections_offset, content=b"".join(other.encode() for other in sections))


def _move_section(other: Section, section: Section, used_bytes: int, removal: Removal) -> Section:
    if other is section:
        return replace(section, size_bytes=used_bytes)
    if other.kind == SHT_NOBITS and removal.start < other.offset < removal.end:
        return replace(other, offset=removal.start)
    return replace(other, offset=removal.moved(other.offset))


def _pointer_patches(
    fat: FatBinary, bundles: Iterable[NewBundle], places: Iterable[int], removal: Removal
) -> Iterator[Patch]:
    moves = {
        fat.address_of(bundle.old): (fat.section.address + place, bundle.size_bytes)
        for bundle, place in zip(bundles, places, strict=True)
    }
    for pointer in fat.pointers:
        content = moves[pointer.target][0].to_bytes(8, "little")
        for offset in pointer.patch_offsets:
            yield Patch(offset=removal.moved(offset), content=content)
    for symbol in fat.symbols:
        address, size_bytes = moves[symbol.address]
        size = (size_bytes if symbol.size_bytes else 0).to_bytes(8, "little")
        yield Patch(offset=removal.moved(symbol.value_offset), content=address.to_bytes(8, "little") + size)
