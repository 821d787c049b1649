"""The bytes of a hsaco → CodeObject: kernels with their descriptors and metadata, sections in memory, decoded code.

Formats: ELF64; LLVM's "User Guide for AMDGPU Backend", sections "Code Object Metadata" and "Kernel Descriptor".
"""

from __future__ import annotations

import functools
import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from elftools.elf.elffile import ELFFile

from gfxemu.arch import ARCHES, Arch, find_arch
from gfxemu.core import load_core
from gfxemu.decode import decode_all
from gfxemu.faults import BadCodeObject
from gfxemu.instruction import Instruction
from gfxemu.lower import Lowering
from gfxemu.lower_dual import count_micros, lower_any
from gfxemu.metadata import (
    MOST_ARGUMENT_BYTES,
    MOST_SCRATCH,
    MOST_THREADS,
    Argument,
    Entry,
    read_arguments,
    read_entries,
    read_name,
    read_number,
)
from gfxemu.micro import LAYOUT, OP_NUMBER_AT
from gfxemu.names import TRANSCENDENTAL

EM_AMDGPU = 224
CODE_BASE = 0x6000_0000_0000  # where code objects lie in emulated memory
ADDRESSES = 1 << 40  # bytes behind CODE_BASE that are the code object's
MOST_MEMORY = 1 << 28  # bytes of all segments; a damaged size must not take all of the host's memory
USER_SGPRS = (4, 2, 2, 2, 2, 2, 1)  # by bit of the descriptor's kernel_code_properties
MOST_USER_SGPRS = 32  # gfx12; 16 before
TRANSCENDENTAL_UNIT = 3  # Unit in core/state.h
RELATIVE64, ABSOLUTE64 = 13, 3  # R_AMDGPU_RELATIVE64, R_AMDGPU_ABS64


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel: what a launch must know. Sizes in bytes; `entry` is an offset in the code section."""

    name: str
    code: CodeObject = field(repr=False, compare=False)
    entry: int
    kernarg_size: int
    group_segment_size: int
    private_segment_size: int
    wavefront_size: int
    vgpr_count: int
    agpr_count: int
    sgpr_count: int
    vgpr_spill_count: int
    max_threads: int
    dynamic_stack: bool
    arguments: tuple[Argument, ...]
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    preload: int

    @property
    def start(self) -> int:
        """Where waves begin: firmware that preloads arguments skips the prologue for firmware that does not."""
        return self.entry + (256 if self.preload & 0x7F else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A loadable part of the file at a virtual address."""

    address: int
    content: bytes
    writable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Lowered code: packed micro-ops, and for every dword of code the op that starts there (-1: none)."""

    ops: bytes
    count: int
    index: tuple[int, ...]


@dataclass(eq=False, kw_only=True)
class CodeObject:
    """A loaded code object. `text` is the code section; `text_address` its virtual address in the file."""

    arch: str
    target: Arch
    text: bytes
    text_address: int
    segments: tuple[Segment, ...]
    kernels: Mapping[str, Kernel] = field(default_factory=dict)
    data: bytes = field(repr=False, default=b"")
    text_offset: int = 0
    symbols: Mapping[str, int] = field(default_factory=dict)

    @functools.cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """Every instruction of the code section."""
        return decode_all(self.text, self.arch)

    @functools.cached_property
    def program(self) -> Program:
        """The code as the core runs it."""
        return lower_program(self.arch, self.text, self.text_address)

    def unknown(self) -> tuple[Instruction, ...]:
        """Instructions without semantics here: the program faults when it reaches one."""
        program, number = self.program, load_core().ops["unknown"][0]
        ops = [struct.unpack_from("<H", program.ops, k * LAYOUT.size + OP_NUMBER_AT)[0] for k in range(program.count)]
        return tuple(item for item in self.instructions if ops[program.index[item.address // 4]] == number)

    def instruction_at(self, pc: int) -> Instruction | None:
        """The instruction at an offset of the code section."""
        return next((item for item in self.instructions if item.address == pc), None)


@functools.lru_cache(maxsize=64)
def lower_program(arch: str, text: bytes, text_address: int) -> Program:
    """A code section lowered to packed micro-ops; the last ones are kept, since tests load one file many times."""
    core, instructions, index, total = load_core(), decode_all(text, arch), {}, 0
    for item in instructions:
        index[item.address] = total
        total += count_micros(item)
    lowering = Lowering(arch=ARCHES[arch], code_address=CODE_BASE + text_address, index=index, types=core.types)
    packed, starts = [], [-1] * (len(text) // 4 + 1)
    for item in instructions:
        starts[item.address // 4] = index[item.address]
        for micro in lower_any(lowering, item):
            op, unit, _ = core.ops[micro.op]
            packed.append(micro.pack(op, TRANSCENDENTAL_UNIT if TRANSCENDENTAL.match(micro.op) else unit))
    return Program(ops=b"".join(packed), count=len(packed), index=tuple(starts))


def read_note(elf: Any) -> bytes:
    """The metadata note."""
    for segment in elf.iter_segments("PT_NOTE"):
        for note in segment.iter_notes():
            if note["n_name"] == "AMDGPU" and note["n_type"] in (32, "NT_AMDGPU_METADATA"):
                return bytes(note["n_descdata"])
    raise BadCodeObject("no AMDGPU metadata note: not linked, or code object v2")


def read_segments(elf: Any) -> list[tuple[int, bytearray, bool]]:
    """Loadable segments with their zero tails."""
    out, total = [], 0
    for segment in elf.iter_segments("PT_LOAD"):
        address, in_file, size = (int(segment[key]) for key in ("p_vaddr", "p_filesz", "p_memsz"))
        total += size
        if total > MOST_MEMORY or address + size > ADDRESSES:
            raise BadCodeObject(f"a segment of {size} bytes at {address:#x}; at most {MOST_MEMORY} bytes can be loaded")
        content = bytearray(segment.data())
        if len(content) != in_file or in_file > size:
            raise BadCodeObject(f"the file does not hold the {in_file} bytes of its segment of {size} at {address:#x}")
        out.append((address, content + bytearray(size - in_file), bool(segment["p_flags"] & 2)))
    return out


def relocate(elf: Any, segments: list[tuple[int, bytearray, bool]]) -> None:
    """Dynamic relocations: base-relative and absolute addresses."""
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_RELA":
            continue
        symbols = elf.get_section(section["sh_link"])
        for item in section.iter_relocations():
            value = CODE_BASE + item["r_addend"]
            if item["r_info_type"] == ABSOLUTE64:
                value += symbols.get_symbol(item["r_info_sym"])["st_value"]
            elif item["r_info_type"] != RELATIVE64:
                raise BadCodeObject(f"relocation type {item['r_info_type']}")
            for address, content, _ in segments:
                if address <= item["r_offset"] < address + len(content):
                    struct.pack_into("<Q", content, item["r_offset"] - address, value)


def read_bytes(segments: tuple[Segment, ...], address: int, size: int) -> bytes:
    """Bytes at a virtual address of the file."""
    for segment in segments:
        if segment.address <= address and address + size <= segment.address + len(segment.content):
            return segment.content[address - segment.address : address - segment.address + size]
    raise BadCodeObject(f"nothing is loaded at {address:#x}")


def read_kernel(code: CodeObject, entry: Entry, symbols: Mapping[str, int]) -> Kernel:
    """A kernel from its metadata and its 64-byte descriptor."""
    symbol = read_name(entry, ".symbol")
    if symbol not in symbols:
        raise BadCodeObject(f"no symbol {symbol}")
    raw = read_bytes(code.segments, symbols[symbol], 64)
    code_offset = struct.unpack_from("<q", raw, 16)[0]
    rsrc3, rsrc1, rsrc2, properties, preload = struct.unpack_from("<IIIHH", raw, 44)
    kernarg_size = read_number(entry, ".kernarg_segment_size", MOST_ARGUMENT_BYTES)
    kernel = Kernel(
        name=read_name(entry, ".name"),
        code=code,
        entry=symbols[symbol] + code_offset - code.text_address,
        kernarg_size=kernarg_size,
        group_segment_size=read_number(entry, ".group_segment_fixed_size"),
        private_segment_size=read_number(entry, ".private_segment_fixed_size", MOST_SCRATCH),
        wavefront_size=read_number(entry, ".wavefront_size"),
        vgpr_count=read_number(entry, ".vgpr_count"),
        agpr_count=read_number(entry, ".agpr_count", default=0),
        sgpr_count=read_number(entry, ".sgpr_count"),
        vgpr_spill_count=read_number(entry, ".vgpr_spill_count", default=0),
        max_threads=read_number(entry, ".max_flat_workgroup_size", MOST_THREADS, MOST_THREADS),
        dynamic_stack=bool(entry.get(".uses_dynamic_stack", False)),
        arguments=tuple(read_arguments(entry, kernarg_size)),
        rsrc1=rsrc1,
        rsrc2=rsrc2,
        rsrc3=rsrc3,
        properties=properties,
        preload=preload,
    )
    check_kernel(kernel)
    return kernel


def check_kernel(kernel: Kernel) -> None:
    """What no compiler writes and the core relies on."""
    allowed = (64,) if kernel.code.target.generation == 9 else (32, 64)
    if kernel.wavefront_size not in allowed:
        raise BadCodeObject(f"{kernel.name}: waves of {kernel.wavefront_size} lanes; {kernel.code.arch} has {allowed}")
    wanted = sum(size for bit, size in enumerate(USER_SGPRS) if kernel.properties >> bit & 1) + (kernel.preload & 127)
    if wanted > MOST_USER_SGPRS:
        raise BadCodeObject(f"{kernel.name}: its descriptor wants {wanted} user SGPRs; there are {MOST_USER_SGPRS}")
    if kernel.start % 4 or not 0 <= kernel.start < len(kernel.code.text):
        raise BadCodeObject(f"{kernel.name}: its entry {kernel.start:#x} is outside of the code section")


def read_symbols(elf: Any) -> dict[str, int]:
    """Symbol name → virtual address."""
    out = {}
    for name in (".dynsym", ".symtab"):
        table = elf.get_section_by_name(name)
        if table is not None:
            out.update({symbol.name: int(symbol["st_value"]) for symbol in table.iter_symbols() if symbol.name})
    return out


def read_text(elf: Any, data: bytes) -> tuple[bytes, int, int]:
    """The code section: its bytes, virtual address and offset in the file."""
    section = elf.get_section_by_name(".text")
    if section is None:
        raise BadCodeObject("no code section")
    address, offset, size = (int(section[key]) for key in ("sh_addr", "sh_offset", "sh_size"))
    if section["sh_type"] != "SHT_PROGBITS" or offset + size > len(data):
        raise BadCodeObject(f"the file does not hold the {size} bytes of its code section")
    if address % 4 or size % 4 or address + size > ADDRESSES:
        raise BadCodeObject(f"a code section of {size} bytes at {address:#x}: no multiples of 4, or out of reach")
    return data[offset : offset + size], address, offset


def read_file(data: bytes) -> CodeObject:
    """All of the file; whatever its parsers raise goes through."""
    elf = ELFFile(io.BytesIO(data))
    if elf.header["e_machine"] not in ("EM_AMDGPU", EM_AMDGPU):
        raise BadCodeObject(f"ELF machine {elf.header['e_machine']}, not AMDGPU")
    arch = find_arch(elf.header["e_flags"] & 0xFF)
    text, address, offset = read_text(elf, data)
    loaded = read_segments(elf)
    relocate(elf, loaded)
    code = CodeObject(
        arch=arch.name,
        target=arch,
        text=text,
        text_address=address,
        segments=tuple(Segment(address=a, content=bytes(c), writable=w) for a, c, w in loaded),
        data=data,
        text_offset=offset,
        symbols=read_symbols(elf),
    )
    kernels = [read_kernel(code, entry, code.symbols) for entry in read_entries(read_note(elf))]
    code.kernels = {kernel.name: kernel for kernel in kernels}
    return code


def load(data: bytes) -> CodeObject:
    """A code object from the bytes of a hsaco; BadCodeObject says what is wrong with them."""
    if data.startswith(b"__CLANG_OFFLOAD_BUNDLE__"):
        raise BadCodeObject("this is an offload bundle: compile with --no-gpu-bundle-output, or unbundle it first")
    try:
        return read_file(data)
    except BadCodeObject:
        raise
    except Exception as error:  # pyelftools and msgpack raise whatever damaged bytes lead them to
        raise BadCodeObject(f"damaged code object: {type(error).__name__}: {error}") from error
