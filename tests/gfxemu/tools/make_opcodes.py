"""LLVM's disassembler → src/gfxemu/opcodes/ARCH.txt: each format's opcodes with mnemonic and operand widths.

Every opcode number of every format is put into otherwise known bytes and read back by llvm-mc, so the tables are
LLVM's knowledge and nobody's typing. Run again when LLVM learns an opcode: `python tools/make_opcodes.py llvm-mc-22`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ARCHES = (
    "gfx90a",
    "gfx942",
    "gfx950",
    "gfx1100",
    "gfx1201",
)  # gfx1101 and gfx1200 read as their neighbours: see the test
OUTPUT = Path(__file__).parent.parent / "src" / "gfxemu" / "opcodes"
# Register numbers are chosen apart, so that a number in LLVM's text says which field it came from.
D, S0, S1, S2, EXTRA = 8, 16, 24, 32, 40
V = 256
# LLVM reads unused fields but writes them back as zero, so fields are dropped until the bytes come back unchanged.
DROPS = [(d, a, x, y) for x, y in ((S1, S2), (S1, 0), (0, 0)) for a in (S0, 0) for d in (D, 0)]
Encoder = Callable[[int], tuple[int, int]]
FIELDS = {
    "VOP": {D: "vdst", S0: "src0", S1: "src1", S2: "src2", 0: "sdst"},
    "SOP": {D: "sdst", S0: "src0", S1: "src1"},
    "SMEM": {D: "sdata", S0: "sbase", 0: "soffset"},
    "DS": {D: "vdst", S0: "addr", S1: "data0", S2: "data1"},
    "MEM": {D: "vdst", S0: "addr", S1: "data", EXTRA: "saddr"},
    "BUF": {D: "vdata", S0: "vaddr", S1: "srsrc", S2: "soffset"},
}


def scalar_formats() -> Iterator[tuple[str, str, int, Encoder]]:
    """SOP formats: the same prefixes in every generation (ISA documents, chapter "Microcode Formats")."""
    yield "SOP1", "SOP", 256, lambda op: (0b101111101 << 23 | D << 16 | op << 8 | S0, 4)
    yield "SOP1", "SOP", 256, lambda op: (0b101111101 << 23 | D << 16 | op << 8 | 193, 4)
    yield "SOP1", "SOP", 256, lambda op: (0b101111101 << 23 | op << 8 | 193, 4)
    yield "SOP1", "SOP", 256, lambda op: (0b101111101 << 23 | D << 16 | op << 8, 4)
    yield "SOP1", "SOP", 256, lambda op: (0b101111101 << 23 | op << 8 | S0, 4)
    yield "SOPC", "SOP", 128, lambda op: (0b101111110 << 23 | op << 16 | S1 << 8 | S0, 4)
    yield "SOPP", "SOP", 128, lambda op: (0b101111111 << 23 | op << 16, 4)
    yield "SOPK", "SOP", 32, lambda op: (0b1011 << 28 | op << 23 | D << 16 | 5, 4)
    yield "SOPK", "SOP", 32, lambda op: (0b1011 << 28 | op << 23 | 5 | 0x12345678 << 32, 8)
    yield "SOP2", "SOP", 96, lambda op: (0b10 << 30 | op << 23 | D << 16 | S1 << 8 | S0, 4)

    yield "SOP2", "SOP", 96, lambda op: (0b10 << 30 | op << 23 | D << 16 | S1 << 8 | S0 | 0x12345678 << 32, 8)


def vector_formats(prefix3: int, prefix3p: int, shift3p: int) -> Iterator[tuple[str, str, int, Encoder]]:
    """VOP formats; src1 and src2 are also tried as scalars, for lane selects and masks."""
    yield "VOP1", "VOP", 256, lambda op: (0b0111111 << 25 | D << 17 | op << 9 | V | S0, 4)
    yield "VOPC", "VOP", 256, lambda op: (0b0111110 << 25 | op << 17 | S1 << 9 | V | S0, 4)
    yield "VOP2", "VOP", 62, lambda op: (op << 25 | D << 17 | S1 << 9 | V | S0, 4)
    yield "VOP2", "VOP", 62, lambda op: (op << 25 | D << 17 | S1 << 9 | V | S0 | 0x12345678 << 32, 8)
    sources = [
        (v0 | S0) | (v1 | S1) << 9 | (v2 | S2) << 18
        for v0, v1, v2 in ((V, V, V), (V, V, 0), (V, 0, 0), (V, 0, V), (0, 0, 0))
    ]
    sources += [V | S0 | (V | S1) << 9, V | S0 | S1 << 9, S0 | S1 << 9, V | S0, S0, 0]  # LLVM wants unused fields zero
    for high in sources:
        yield "VOP3", "VOP", 1024, lambda op, high=high: (prefix3 << 26 | op << 16 | (D if high else 0) | high << 32, 8)
        yield (
            "VOP3P",
            "VOP",
            128,
            lambda op, high=high: (prefix3p << shift3p | op << 16 | D | 1 << 14 | (high | 3 << 27) << 32, 8),
        )
        yield "VOP3P", "VOP", 128, lambda op, high=high: (prefix3p << shift3p | op << 16 | D | high << 32, 8)
    both = (V | S0 | (V | S1) << 9) << 32
    yield "VOP3", "VOP", 256, lambda op: (prefix3 << 26 | op << 16 | 126 | both, 8)  # v_cmpx: the destination is EXEC


def gfx9_formats() -> Iterator[tuple[str, str, int, Encoder]]:
    """CDNA's memory formats."""
    yield from scalar_formats()
    yield from vector_formats(0b110100, 0b110100111, 23)
    yield "SMEM", "SMEM", 256, lambda op: (0b110000 << 26 | op << 18 | 1 << 17 | D << 6 | S0 // 2, 8)
    for d, a, x, y in DROPS:
        yield (
            "DS",
            "DS",
            256,
            lambda op, high=a | x << 8 | y << 16 | d << 24: (0b110110 << 26 | op << 17 | high << 32, 8),
        )
    for name, segment in (("FLAT", 0), ("SCRATCH", 1), ("GLOBAL", 2)):
        for d, a, x, _ in DROPS:
            high = a | x << 8 | (0x7F if segment else 0) << 16 | d << 24
            yield (
                name,
                "MEM",
                128,
                lambda op, seg=segment, high=high: (0b110111 << 26 | op << 18 | seg << 14 | high << 32, 8),
            )
    yield (
        "MUBUF",
        "BUF",
        128,
        lambda op: (0b111000 << 26 | op << 18 | 1 << 12 | (S0 | D << 8 | S1 // 4 << 16 | S2 << 24) << 32, 8),
    )
    yield "MUBUF", "BUF", 128, lambda op: (0b111000 << 26 | op << 18, 8)
    yield "SMEM", "SMEM", 256, lambda op: (0b110000 << 26 | op << 18, 8)


def gfx11_formats() -> Iterator[tuple[str, str, int, Encoder]]:
    """RDNA3's memory formats."""
    yield from scalar_formats()
    yield from vector_formats(0b110101, 0b11001100, 24)
    yield "SMEM", "SMEM", 256, lambda op: (0b111101 << 26 | op << 18 | D << 6 | S0 // 2 | 124 << 57, 8)
    for d, a, x, y in DROPS:
        yield (
            "DS",
            "DS",
            256,
            lambda op, high=a | x << 8 | y << 16 | d << 24: (0b110110 << 26 | op << 18 | high << 32, 8),
        )
    for name, segment in (("FLAT", 0), ("SCRATCH", 1), ("GLOBAL", 2)):
        for d, a, x, _ in DROPS:
            high = a | x << 8 | 124 << 16 | (segment == 1) << 23 | d << 24
            yield (
                name,
                "MEM",
                128,
                lambda op, seg=segment, high=high: (0b110111 << 26 | op << 18 | seg << 16 | high << 32, 8),
            )
    yield (
        "MUBUF",
        "BUF",
        128,
        lambda op: (0b111000 << 26 | op << 18 | (S0 | D << 8 | S1 // 4 << 16 | 1 << 22 | S2 << 24) << 32, 8),
    )
    yield "MUBUF", "BUF", 128, lambda op: (0b111000 << 26 | op << 18, 8)
    yield "SMEM", "SMEM", 256, lambda op: (0b111101 << 26 | op << 18, 8)


def gfx12_formats() -> Iterator[tuple[str, str, int, Encoder]]:
    """RDNA4's memory formats: 96 bits for vector memory."""
    yield from scalar_formats()
    yield from vector_formats(0b110101, 0b11001100, 24)
    yield "SMEM", "SMEM", 64, lambda op: (0b111101 << 26 | op << 13 | D << 6 | S0 // 2 | 124 << 57, 8)
    for d, a, x, y in DROPS:
        yield (
            "DS",
            "DS",
            256,
            lambda op, high=a | x << 8 | y << 16 | d << 24: (0b110110 << 26 | op << 18 | high << 32, 8),
        )
    for name, prefix in (("FLAT", 0xEC), ("SCRATCH", 0xED), ("GLOBAL", 0xEE)):
        for d, a, x, _ in DROPS:
            high = d | (prefix == 0xED) << 17 | x << 23 | a << 32
            yield name, "MEM", 256, lambda op, p=prefix, high=high: (p << 24 | op << 14 | 124 | high << 32, 12)
    yield (
        "MUBUF",
        "BUF",
        256,
        lambda op: (0b110001 << 26 | op << 14 | S2 | (D | S1 << 9 | 1 << 30) << 32 | S0 << 64, 12),
    )
    yield "GLOBAL", "MEM", 256, lambda op: (0xEE << 24 | op << 14, 12)
    yield "GLOBAL", "MEM", 256, lambda op: (0xEE << 24 | op << 14 | 124, 12)
    yield "SMEM", "SMEM", 64, lambda op: (0b111101 << 26 | op << 13, 8)


def formats_of(arch: str) -> Iterator[tuple[str, str, int, Encoder]]:
    """The formats of one arch."""
    return (
        gfx12_formats() if arch.startswith("gfx12") else gfx11_formats() if arch.startswith("gfx11") else gfx9_formats()
    )


def disassemble(program: str, arch: str, codes: list[bytes]) -> dict[bytes, str]:
    """Instruction bytes → LLVM's text, for those that are instructions."""
    source = "\n".join(",".join(f"0x{byte:02x}" for byte in code) for code in codes)
    out = subprocess.run(
        [program, "--disassemble", "--triple=amdgcn-amd-amdhsa", f"--mcpu={arch}", "--show-encoding"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    found = {}
    for line in out.splitlines():
        match = re.match(r"\s*(\S.*?)\s*(?:;|//) encoding: \[(.*?)\]", line)
        if match and "/*Invalid" not in match[1]:
            found[bytes(int(item, 16) for item in match[2].split(","))] = match[1].replace("\t", " ")
    return found


def describe_operand(token: str, fields: dict[int, str]) -> str:
    """`v[8:9]` → `vdst:v2`; what has no field keeps its own name."""
    if match := re.fullmatch(r"([vsa])(?:(\d+)|\[(\d+):(\d+)\])(\.[lh])?", token):
        first = int(match[2] or match[3])
        width = int(match[4]) - first + 1 if match[3] else 1
        return f"{fields.get(first, '?')}:{match[1]}{'h' if match[5] else width}"
    return re.sub(r"\b(0x[0-9a-f]+|\d+)\b", "i", token)


def describe(text: str, fields: dict[int, str]) -> str:
    """One table row without its number."""
    mnemonic, _, rest = text.partition(" ")
    operands = [part.strip() for part in rest.split(",")] if rest.strip() else []
    return " ".join([mnemonic, *(describe_operand(item.split(" ")[0], fields) for item in operands)])


def make_rows(program: str, arch: str) -> list[str]:
    """All rows of one arch, sorted; the first reading of an opcode wins."""
    rows: dict[tuple[str, int], str] = {}
    for name, kind, count, encode in formats_of(arch):
        codes = {op: (value := encode(op))[0].to_bytes(value[1], "little") for op in range(count)}
        texts = disassemble(program, arch, list(codes.values()))
        for op, code in codes.items():
            if (name, op) not in rows and code in texts:
                rows[name, op] = describe(texts[code], FIELDS[kind])
    # gfx9's VOP3P prefix lies inside VOP3's: those numbers are read as VOP3P
    return [
        f"{name} {op:#x} {row}"
        for (name, op), row in sorted(rows.items())
        if "?" not in row and not (name == "VOP3" and arch.startswith("gfx9") and op >= 0x380)
    ]


def main() -> None:
    """Write all tables."""
    for arch in ARCHES:
        rows = make_rows(sys.argv[1], arch)
        (OUTPUT / f"{arch}.txt").write_text("\n".join(rows) + "\n")
        sys.stdout.write(f"{arch}: {len(rows)} opcodes\n")


if __name__ == "__main__":
    main()
