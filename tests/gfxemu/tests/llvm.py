"""LLVM's tools for tests: assemble, disassemble, normalise text, hold every instruction of a file against it."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import gfxemu
from immediates import spell_immediates

UNKNOWN_TO_19 = ("gfx950", "gfx1100", "gfx1101")
"""LLVM 19 does not know gfx950, nor the 16-bit registers that gfx11's compilers use now."""


def tool(name: str, version: str) -> str:
    """A tool of one LLVM version; a missing one is an error, not a skip: CI installs them."""
    path = shutil.which(f"{name}-{version}")
    assert path, f"{name}-{version} is missing: apt-get install llvm-{version} lld-{version} clang-22"
    return path


def disassemble(path: Path, arch: str, version: str) -> dict[int, str]:
    """Offset in the code section → LLVM's text."""
    command = [tool("llvm-objdump", version), "-d", f"--mcpu={arch}", "--no-show-raw-insn", str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[int, str] = {}
    start = None
    for line in out.splitlines():
        if match := re.match(r"\t(\S.*?)\s*// ([0-9A-F]+):", line):
            address = int(match[2], 16)
            start = address if start is None else start
            found[address - start] = match[1].replace("\t", " ")
    return found


def disassemble_words(words: list[bytes], arch: str, version: str) -> list[str]:
    """LLVM's text of each piece of code by itself."""
    command = [tool("llvm-mc", version), "-triple=amdgcn-amd-amdhsa", f"-mcpu={arch}", "--disassemble"]
    lines = "\n".join(" ".join(f"{byte:#04x}" for byte in word) for word in words)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr[:400]
    return [line.strip() for line in done.stdout.splitlines() if line.startswith("\tv_")]


def normalise(text: str, arch: str) -> str:
    """What our text and LLVM's must share: number spelling, spaces, names of fields are levelled."""
    text = re.sub(r"\s+", " ", text.strip())
    text = re.sub(r"lit\((\w+)\)", r"\1", text)
    text = re.sub(r"<[^>]*>", "", text).strip()
    text = re.sub(
        r"(?<![\w.])-?0x[0-9a-f]+(?![\w.])|(?<![\w.\[:])-?\d+(?![\w.\]:])",
        lambda m: str(int(m[0], 0) % (1 << 32)),
        text,
    )
    text = re.sub(r"\bglc\b", "sc0", text)  # gfx90a's name of the same bit
    text = text.replace(" ,", ",").replace("row_newbcast", "row_share")
    return spell_immediates(re.sub(r"bound_ctrl:0", "bound_ctrl:1", text), arch)


def compare(data: bytes, version: str, folder: Path) -> int:
    """How many instructions were compared; the first that differ fail the test."""
    path = folder / "code.hsaco"
    path.write_bytes(data)
    code = gfxemu.load(data)
    want = disassemble(path, code.arch, version)
    ours = {item.address: normalise(item.text(), code.arch) for item in code.instructions}
    missing = sorted(set(want) - set(ours))
    assert not missing
    differing = [
        (hex(at), ours[at], theirs) for at, text in want.items() if ours[at] != (theirs := normalise(text, code.arch))
    ]
    assert not differing, differing[:5]
    return len(want)


def assemble(source: str, arch: str, folder: Path, version: str = "22") -> bytes:
    """A linked code object from assembly text."""
    obj, out = folder / "a.o", folder / "a.hsaco"
    subprocess.run(
        [tool("llvm-mc", version), "-triple=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-filetype=obj", "-o", str(obj), "-"],
        input=source,
        text=True,
        check=True,
    )
    subprocess.run([tool("ld.lld", version), "-shared", str(obj), "-o", str(out)], check=True)
    return out.read_bytes()


def pack_args(*values: float) -> bytes:
    """8-byte integers and floats as kernarg bytes."""
    return b"".join(struct.pack("<f4x", v) if isinstance(v, float) else struct.pack("<Q", int(v)) for v in values)
