"""Damaged files: load() says BadCodeObject or reads them; what it reads launches, faults or is refused; all quickly."""

from __future__ import annotations

import contextlib
import functools
import io
import struct

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assembly
import gfxemu

ARCHES = (*assembly.LANES, "gfx1101", "gfx1200")
BODY = "v_add_f32 v8, 0x40490fdb, v2\n"  # 8 bytes: an entry may lie inside of it
MACHINES = {"gfx1101": 0x46, "gfx1200": 0x48}


@functools.cache
def make_file(arch: str) -> bytes:
    """A small code object; a neighbour's is its sibling's under another machine number."""
    sibling = {"gfx1101": "gfx1100", "gfx1200": "gfx1201"}.get(arch, arch)
    data = assembly.build(sibling, BODY).data
    return data if arch == sibling else data[:48] + bytes([MACHINES[arch]]) + data[49:]


@functools.cache
def place_of(arch: str, part: str) -> range:
    """The bytes of a section, or of the file's, the segments' or the sections' headers."""
    elf = ELFFile(io.BytesIO(make_file(arch)))
    header = elf.header
    if part == "file header":
        return range(header["e_ehsize"])
    if part in ("program headers", "section headers"):
        kind = "ph" if part == "program headers" else "sh"
        start = header[f"e_{kind}off"]
        return range(start, start + header[f"e_{kind}entsize"] * header[f"e_{kind}num"])
    section = elf.get_section_by_name(part)
    assert section is not None
    return range(section["sh_offset"], section["sh_offset"] + section["sh_size"])


PARTS = ("file header", "program headers", "section headers", ".note", ".dynsym", ".dynstr", ".rodata")


def use(data: bytes) -> None:
    """Load and launch whatever is in there; only gfxemu's own errors may come out, and only the right ones."""
    try:
        code = gfxemu.load(data)
    except gfxemu.BadCodeObject:
        return
    for kernel in code.kernels.values():
        with contextlib.suppress(gfxemu.BadCodeObject, gfxemu.BadLaunch, gfxemu.Fault):
            start(kernel)


def start(kernel: gfxemu.Kernel) -> None:
    """Launch one small workgroup, whose pointers are zero."""
    gfxemu.launch(kernel, grid=(1, 1, 1), block=(8, 1, 1), kernarg=bytes(32), memory=gfxemu.Memory(), step_limit=1000)


def change(data: bytes, at: int, content: bytes) -> bytes:
    return data[:at] + content + data[at + len(content) :]


def set_header(arch: str, kind: int, offset: int, value: int) -> bytes:
    """The file with 8 bytes at an offset of the first program header of a kind changed."""
    data, table = make_file(arch), place_of(arch, "program headers")
    entry = next(at for at in table[::56] if struct.unpack_from("<I", data, at)[0] == kind)
    return change(data, entry + offset, struct.pack("<Q", value))


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("part", PARTS)
def test_a_flipped_byte_of_headers_and_notes_raises_only_our_errors(arch: str, part: str) -> None:
    data = make_file(arch)
    for at in place_of(arch, part):
        use(change(data, at, bytes([data[at] ^ (0xFF, 0x80, 1)[at % 3]])))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    arch=st.sampled_from(ARCHES),
    changes=st.lists(
        st.tuples(st.sampled_from((*PARTS, ".text")), st.integers(0, 4096), st.binary(min_size=1, max_size=8))
    ),
    kept=st.floats(0, 1),
    is_cut=st.booleans(),
)
def test_damaged_bytes_raise_only_our_errors(
    arch: str, changes: list[tuple[str, int, bytes]], kept: float, *, is_cut: bool
) -> None:
    data = make_file(arch)
    for part, at, content in changes:
        place = place_of(arch, part)
        data = change(data, place[at % len(place)], content)
    use(data[: int(len(data) * kept)] if is_cut else data)


@given(data=st.binary(max_size=200))
def test_bytes_behind_an_elf_magic_are_refused(data: bytes) -> None:
    with pytest.raises(gfxemu.BadCodeObject):
        gfxemu.load(b"\x7fELF\x02\x01\x01" + data)


@pytest.mark.parametrize("size", [1 << 32, 1 << 62, (1 << 64) - 1])
def test_a_segment_of_gigabytes_is_refused_before_it_is_made(size: int) -> None:
    with pytest.raises(gfxemu.BadCodeObject, match=f"a segment of {size} bytes at 0x0; at most"):
        gfxemu.load(set_header("gfx942", 1, 40, size))


def test_a_segment_that_the_file_does_not_hold_is_refused() -> None:
    with pytest.raises(gfxemu.BadCodeObject, match="the file does not hold the 65536 bytes of its segment"):
        gfxemu.load(set_header("gfx942", 1, 32, 65536))


def test_an_entry_inside_of_an_instruction_is_refused() -> None:
    data, code = make_file("gfx942"), assembly.build("gfx942", BODY)
    literal = next(item for item in code.instructions if item.base == "v_add_f32")
    offset = place_of("gfx942", ".rodata")[16]  # kernel_code_entry_byte_offset
    for inside, match in ((4, "inside of an instruction"), (1 << 20, "outside of the code section"), (2, "outside of")):
        moved = struct.unpack_from("<q", data, offset)[0] + literal.address + inside
        with pytest.raises(gfxemu.BadCodeObject, match=match):
            start(gfxemu.load(change(data, offset, struct.pack("<q", moved))).kernels["k"])


NOTES = [
    (b"\xaf.wavefront_size\x40", b"\xaf.wavefront_size\x21", "waves of 33 lanes"),
    (b"\xaf.wavefront_size\x40", b"\xaf.wavefront_size\xc3", "metadata: .wavefront_size is True, not a whole number"),
    (b"\xa7.symbol\xa4k.kd", b"\xa7.symbol\xa4k.ke", "no symbol k.ke"),
    (b"\xa5.name\xa1k", b"\xa5.name\xa1\xff", "damaged code object: UnicodeDecodeError"),
    (b"\xa5.name\xa1k", b"\xa5.name\xc4\x00", "metadata: .name is b'', not a string"),
    (b"\xa5.size\x08", b"\xa5.size\xff", "metadata: .size is -1, not a whole number from 0 to 40"),
    (b"\xa7.offset\x18", b"\xa7.offset\x28", "an argument ends at 48, the segment at 40"),
    (b"\xaeamdhsa.kernels", b"\xaeamdhsa.kernelz", "no amdhsa.kernels"),
    (b"\xa5.args\x94", b"\xa5.args\x04", "damaged code object: TypeError"),
]


@pytest.mark.parametrize(("old", "new", "match"), NOTES)
def test_metadata_of_other_types_and_ranges_is_refused(old: bytes, new: bytes, match: str) -> None:
    data = make_file("gfx942")
    assert old in data
    with pytest.raises(gfxemu.BadCodeObject, match=match):
        gfxemu.load(data.replace(old, new, 1))


def test_a_descriptor_that_wants_more_user_sgprs_than_there_are_is_refused() -> None:
    data, at = make_file("gfx942"), place_of("gfx942", ".rodata")[58]  # kernarg_preload
    with pytest.raises(gfxemu.BadCodeObject, match="wants 129 user SGPRs; there are 32"):
        gfxemu.load(change(data, at, b"\x7f"))
