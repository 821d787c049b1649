"""LLVM's tools for tests: assemble, disassemble, normalise text."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

VERSION = {"gfx950": ("22",)}  # LLVM 19 does not know gfx950


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


def normalise(text: str) -> str:
    """What our text and LLVM's must share: number spelling, spaces and encoding suffixes of no meaning are levelled."""
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
    return re.sub(r"bound_ctrl:0", "bound_ctrl:1", text)


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
