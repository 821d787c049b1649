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

import msgpack  # type: ignore[import-untyped]
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from gfxemu.arch import ARCHES, Arch, find_arch
from gfxemu.core import load_core
from gfxemu.decode import decode_all
from gfxemu.faults import BadCodeObject
from gfxemu.instruction import Instruction
from gfxemu.lower import Lowering
from gfxemu.lower_dual import count_micros, lower_any
from gfxemu.micro import LAYOUT, OP_NUMBER_AT
from gfxemu.names import TRANSCENDENTAL

EM_AMDGPU = 224
CODE_BASE = 0x6000_0000_0000  # where code objects lie in emulated memory
TRANSCENDENTAL_UNIT = 3  # Unit in core/state.h
RELATIVE64, ABSOLUTE64 = 13, 3  # R_AMDGPU_RELATIVE64, R_AMDGPU_ABS64


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One kernel argument of the metadata."""

    name: str
    kind: str
    offset: int
    size: int


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


def read_notes(elf: Any) -> dict[str, Any]:
    """The metadata note: MessagePack."""
    for segment in elf.iter_segments("PT_NOTE"):
        for note in segment.iter_notes():
            if note["n_name"] == "AMDGPU" and note["n_type"] in (32, "NT_AMDGPU_METADATA"):
                raw = note["n_descdata"]
                return dict(msgpack.unpackb(raw, strict_map_key=False))
    raise BadCodeObject("no AMDGPU metadata note: not linked, or code object v2")


def read_segments(elf: Any) -> list[tuple[int, bytearray, bool]]:
    """Loadable segments with their zero tails."""
    out = []
    for segment in elf.iter_segments("PT_LOAD"):
        content = bytearray(segment.data()) + bytearray(segment["p_memsz"] - segment["p_filesz"])
        out.append((int(segment["p_vaddr"]), content, bool(segment["p_flags"] & 2)))
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


def read_kernel(code: CodeObject, entry: dict[str, Any], symbols: Mapping[str, int]) -> Kernel:
    """A kernel from its metadata and its 64-byte descriptor."""
    symbol = str(entry[".symbol"])
    if symbol not in symbols:
        raise BadCodeObject(f"no symbol {symbol}")
    raw = read_bytes(code.segments, symbols[symbol], 64)
    code_offset = struct.unpack_from("<q", raw, 16)[0]
    rsrc3, rsrc1, rsrc2, properties, preload = struct.unpack_from("<IIIHH", raw, 44)
    start = symbols[symbol] + code_offset - code.text_address
    arguments = tuple(
        Argument(
            name=str(item.get(".name", "")),
            kind=str(item[".value_kind"]),
            offset=int(item[".offset"]),
            size=int(item[".size"]),
        )
        for item in entry.get(".args", ())
    )
    return Kernel(
        name=str(entry[".name"]),
        code=code,
        entry=start,
        kernarg_size=int(entry[".kernarg_segment_size"]),
        group_segment_size=int(entry[".group_segment_fixed_size"]),
        private_segment_size=int(entry[".private_segment_fixed_size"]),
        wavefront_size=int(entry[".wavefront_size"]),
        vgpr_count=int(entry[".vgpr_count"]),
        agpr_count=int(entry.get(".agpr_count", 0)),
        sgpr_count=int(entry[".sgpr_count"]),
        vgpr_spill_count=int(entry.get(".vgpr_spill_count", 0)),
        max_threads=int(entry.get(".max_flat_workgroup_size", 1024)),
        dynamic_stack=bool(entry.get(".uses_dynamic_stack", False)),
        arguments=arguments,
        rsrc1=rsrc1,
        rsrc2=rsrc2,
        rsrc3=rsrc3,
        properties=properties,
        preload=preload,
    )


def read_symbols(elf: Any) -> dict[str, int]:
    """Symbol name → virtual address."""
    out = {}
    for name in (".dynsym", ".symtab"):
        table = elf.get_section_by_name(name)
        if table is not None:
            out.update({symbol.name: int(symbol["st_value"]) for symbol in table.iter_symbols() if symbol.name})
    return out


def load(data: bytes) -> CodeObject:
    """A code object from the bytes of a hsaco; BadCodeObject says what is wrong with them."""
    if data.startswith(b"__CLANG_OFFLOAD_BUNDLE__"):
        raise BadCodeObject("this is an offload bundle: compile with --no-gpu-bundle-output, or unbundle it first")
    try:
        elf = ELFFile(io.BytesIO(data))
        if elf.header["e_machine"] not in ("EM_AMDGPU", EM_AMDGPU):
            raise BadCodeObject(f"ELF machine {elf.header['e_machine']}, not AMDGPU")
        arch = find_arch(elf.header["e_flags"] & 0xFF)
        section = elf.get_section_by_name(".text")
        if section is None:
            raise BadCodeObject("no code section")
        loaded = read_segments(elf)
        relocate(elf, loaded)
        segments = tuple(Segment(address=a, content=bytes(c), writable=w) for a, c, w in loaded)
        symbols = read_symbols(elf)
        code = CodeObject(
            arch=arch.name,
            target=arch,
            text=section.data(),
            text_address=section["sh_addr"],
            segments=segments,
            data=data,
            text_offset=section["sh_offset"],
            symbols=symbols,
        )
        kernels = [read_kernel(code, entry, symbols) for entry in read_notes(elf)["amdhsa.kernels"]]
    except (ELFError, KeyError, struct.error, msgpack.exceptions.UnpackException) as error:
        raise BadCodeObject(f"damaged code object: {error}") from error
    code.kernels = {kernel.name: kernel for kernel in kernels}
    return code
