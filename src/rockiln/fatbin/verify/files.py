"""Old file, new file, archs → Verification: every way found in which the new file is not what it should be."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from rockiln.fatbin.verify.binary import Binary, Header, open_binary
from rockiln.fatbin.verify.memory import Hole, differing_words, find_differences, find_load_faults, find_outside
from rockiln.fatbin.verify.objects import open_bundle
from rockiln.fatbin.verify.verification import Counts, Verification, collect_faults, compare_bundles
from rockiln.fatbin.verify.wrappers import AllowedWords, find_wrappers

FATBIN = ".hip_fatbin"
_CHUNK_BYTES = 1 << 20
_DISPENSABLE = frozenset({"PT_NULL", "PT_PHDR", "PT_GNU_PROPERTY", "PT_NOTE"})


def verify_files(old: int, new: int, archs: AbstractSet[str]) -> Verification:
    """Compare two open files, given as descriptors."""

    def find(counts: Counts) -> Iterator[str]:
        with open_binary(old) as before, open_binary(new) as after:
            yield from _find_faults(before, after, archs, counts)

    return collect_faults(find)


def _find_faults(old: Binary, new: Binary, archs: AbstractSet[str], counts: Counts) -> Iterator[str]:
    outside = [*find_outside(old), *find_outside(new)]
    if outside:
        yield from outside
        return
    section, new_section = old.sections[FATBIN], new.sections[FATBIN]
    hole = range(section["sh_addr"], section["sh_addr"] + section["sh_size"])
    yield from _find_header_faults(old, new)
    yield from find_load_faults(old, new, hole)
    moves: dict[int, int] = {}
    yield from _find_bundle_faults(old, new, archs, counts, moves)
    yield from _find_section_faults(old, new, moves)
    limit = section["sh_addr"] + new_section["sh_size"]
    if new_section["sh_addr"] != section["sh_addr"] or limit > hole.stop:
        yield f"{FATBIN} moved or grew"
    allowed = AllowedWords(old, moves, hole)
    yield from _find_image_faults(old, new, hole, allowed)


def _find_header_faults(old: Binary, new: Binary) -> Iterator[str]:
    movable = {"e_phoff", "e_shoff", "e_phnum"}
    for key, value in old.header.items():
        if key not in movable and new.header[key] != value:
            yield f"{key} differs"
    before, after = (_other_segments(binary) for binary in (old, new))
    gone = [one for one in before if one not in after]
    is_one_spared = len(gone) <= 1 and len(after) == len(before) - len(gone)
    if not is_one_spared or any(one not in before for one in after) or any(one[0] not in _DISPENSABLE for one in gone):
        yield "program headers differ"


def _other_segments(binary: Binary) -> list[tuple[object, ...]]:
    keys = ("p_type", "p_flags", "p_vaddr", "p_filesz", "p_memsz", "p_align")
    return [tuple(one[key] for key in keys) for one in binary.segments if one["p_type"] != "PT_LOAD"]


def _find_bundle_faults(
    old: Binary, new: Binary, archs: AbstractSet[str], counts: Counts, moves: dict[int, int]
) -> Iterator[str]:
    """Every wrapper's bundle, old and new. Fills `moves`: old address of a bundle → new one."""
    before, after = find_wrappers(old), find_wrappers(new)
    if before.keys() != after.keys() or not before:
        yield "the wrappers are others"
        return
    old_end, new_end = _end_of_fatbin(old), _end_of_fatbin(new)
    for place, address in before.items():
        counts.wrappers += 1
        if address in moves:
            if moves[address] != after[place]:
                yield f"wrappers of one bundle lead to two, at {place:#x}"
            continue
        moves[address] = after[place]
        with open_bundle(old, address, old_end) as one, open_bundle(new, after[place], new_end) as other:
            yield from compare_bundles(one, other, archs, counts)
    if len(set(moves.values())) != len(moves):
        yield "two bundles became one"


def _end_of_fatbin(binary: Binary) -> int:
    return int(binary.sections[FATBIN]["sh_addr"] + binary.sections[FATBIN]["sh_size"])


def _find_section_faults(old: Binary, new: Binary, moves: Mapping[int, int]) -> Iterator[str]:
    if list(old.sections) != list(new.sections):
        yield "the sections are others"
        return
    for name, section in old.sections.items():
        other = new.sections[name]
        fixed = [key for key in section if key not in {"sh_offset", "sh_size"} or (key == "sh_size" and name != FATBIN)]
        if any(section[key] != other[key] for key in fixed):
            yield f"the header of section {name} differs"
        elif section["sh_flags"] & 2 and section["sh_type"] != "SHT_NOBITS":
            yield from _require_loaded_offset(new, name, other)
        elif not section["sh_flags"] & 2 and section["sh_type"] not in {"SHT_NULL", "SHT_NOBITS"}:
            yield from _compare_sections(old, new, name, moves)


def _require_loaded_offset(new: Binary, name: str, section: Header) -> Iterator[str]:
    address, offset = section["sh_addr"], section["sh_offset"]
    places = [one for one in new.ranges if one.start <= address < one.end]
    if places and not any(one.offset + address - one.start == offset for one in places):
        yield f"section {name} is not where it is loaded"


def _compare_sections(old: Binary, new: Binary, name: str, moves: Mapping[int, int]) -> Iterator[str]:
    """Bytes that are not loaded, as debug information; in a symbol table, bundles may have moved."""
    before, after = old.sections[name]["sh_offset"], new.sections[name]["sh_offset"]
    size_bytes = old.sections[name]["sh_size"]
    is_symbols = old.sections[name]["sh_type"] == "SHT_SYMTAB"
    index = old.sections[FATBIN]["index"]
    for start in range(0, size_bytes, 24 * 32768):
        length = min(24 * 32768, size_bytes - start)
        one, other = old.read(before + start, length), new.read(after + start, length)
        if one != other and not (is_symbols and _are_moved_symbols(one, other, index, moves)):
            yield f"section {name} differs"
            return


def _are_moved_symbols(old: bytes, new: bytes, index: int, moves: Mapping[int, int]) -> bool:
    """Do the tables differ only in symbols of bundles, and by the bundles' moves?"""
    rows = {place // 24 for place in differing_words(old, new, 0)}
    return len(old) == len(new) and all(_is_moved(old, new, 24 * row, index, moves) for row in rows)


def _is_moved(old: bytes, new: bytes, place: int, index: int, moves: Mapping[int, int]) -> bool:
    *before, address, _ = struct.unpack_from("<IBBHQQ", old, place)
    *after, new_address, _ = struct.unpack_from("<IBBHQQ", new, place)
    return before == after and before[3] == index and moves.get(address) == new_address


def _find_image_faults(old: Binary, new: Binary, hole: Hole, allowed: AllowedWords) -> Iterator[str]:
    for address in find_differences(old, new, hole):
        if not allowed.explains(address, new.load_word(address)):
            yield f"the memory image differs at {address:#x}"
