"""Integer instructions against the pseudocode of AMD's CDNA documents, as tinygrad ships it: nobody here typed it.

Only one-line pseudocode over integer types is evaluated; the test says how many instructions that covers.
"""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from tinygrad.runtime.autogen.amd.cdna import str_pcode

import assembly

ARCH = "gfx942"
WIDTH = re.compile(r"([ubi])(\d+)")
PLAIN = re.compile(r"^D0\.([ubi](?:16|32)) = ([^;]+?);?$")
SKIP = {"V_MOV_B32", "V_READFIRSTLANE_B32", "V_SAT_PK_U8_I16"}  # moves prove nothing; the last reads packed halves


def typed(value: int, kind: str) -> int:
    """A number as u32, i16, b64 …"""
    match = WIDTH.fullmatch(kind)
    assert match
    bits = int(match[2])
    value &= (1 << bits) - 1
    return value - (1 << bits) if match[1] == "i" and value >> (bits - 1) else value


NAMES = {
    "typed": typed,
    "v_max_i32": lambda a, b: max(typed(a, "i32"), typed(b, "i32")),
    "v_min_i32": lambda a, b: min(typed(a, "i32"), typed(b, "i32")),
    "v_max_u32": lambda a, b: max(typed(a, "u32"), typed(b, "u32")),
    "v_min_u32": lambda a, b: min(typed(a, "u32"), typed(b, "u32")),
    "v_max_i16": lambda a, b: max(typed(a, "i16"), typed(b, "i16")),
    "v_min_i16": lambda a, b: min(typed(a, "i16"), typed(b, "i16")),
    "v_max_u16": lambda a, b: max(typed(a, "u16"), typed(b, "u16")),
    "v_min_u16": lambda a, b: min(typed(a, "u16"), typed(b, "u16")),
}


def translate(text: str) -> str | None:
    """Pseudocode of one expression → Python; None where it uses more than integers and sources."""
    text = re.sub(r"(S\d)\[(\d+) : (\d+)\](?:\.[ub]\d+)?", r"(\1 >> \3 & ((1 << \2 - \3 + 1) - 1))", text)
    text = re.sub(r"(S\d)\.([ubi]\d+)", r'typed(\1, "\2")', text)
    text = re.sub(r"(\d+)'([UI])\(", lambda m: f"typed_{m[2].lower()}{m[1]}(", text)
    text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)(?:U|LL|ULL|L)\b", r"\1", text)
    if match := re.fullmatch(r"(.+?) \? (.+?) : (.+)", text):
        text = f"({match[2]}) if ({match[1]}) else ({match[3]})"
    allowed = re.sub(r'"[ubi]\d+"|typed(_[ui]\d+)?|v_(max|min)_[ui]\d+|S\d|0x[0-9a-f]+|\d+|\bif\b|\belse\b', "", text)
    return text if re.fullmatch(r"[\s()+\-*&|^~<>=!,]*", allowed) else None


def evaluate(code: str, sources: tuple[int, int, int]) -> int:
    """The translated expression for one lane."""
    casts = {
        f"typed_{kind}{bits}": lambda v, k=kind, b=bits: typed(v, f"{k}{b}")
        for kind in "ui"
        for bits in (8, 16, 32, 64)
    }
    names = {"S0": sources[0], "S1": sources[1], "S2": sources[2]} | NAMES | casts
    return int(eval(code, {"__builtins__": {}}, names))  # noqa: S307  # pseudocode of a pinned package, letters checked above


def collect() -> list[tuple[str, str, str]]:
    """Mnemonic, destination type, expression of what can be evaluated."""
    out = {}
    for op, text in str_pcode.PCODE.items():
        kind = type(op).__name__
        match = PLAIN.match(text.split("\n//")[0].strip())
        name = op.name.removesuffix("_E64").removesuffix("_E32")
        if kind not in ("VOP1Op", "VOP2Op", "VOP3Op") or not match or name in SKIP or "\n" in text.strip():
            continue
        if code := translate(match[2]):
            out[name] = (name.lower(), match[1], code)
    return sorted(out.values())


CASES = collect()


def assemble(name: str, expression: str) -> assembly.gfxemu.CodeObject | None:
    """The instruction in a kernel; None where LLVM has no such mnemonic for the arch."""
    count = max(int(k) for k in re.findall(r"S(\d)", expression)) + 1
    operands = ", ".join(("v2", "v4", "v6")[:count])
    try:
        return assembly.build(ARCH, f"{name} v8, {operands}")
    except subprocess.CalledProcessError:
        return None


def test_enough_of_the_documents_can_be_evaluated() -> None:
    assert len(CASES) >= 45


@pytest.mark.parametrize(("name", "kind", "expression"), CASES, ids=[case[0] for case in CASES])
def test_instruction_does_what_the_document_says(name: str, kind: str, expression: str) -> None:
    code = assemble(name, expression)
    if code is None:
        pytest.skip(f"LLVM knows no {name} on {ARCH}")
    rng = np.random.default_rng(12)
    a, b, c = (rng.integers(0, 2**32, 128, np.uint64) for _ in range(3))
    b[:64] &= np.uint64(31)  # shifts and fields of sensible size too
    got = assembly.run(code, a, b, c)
    mask = (1 << int(kind[1:])) - 1
    want = [evaluate(expression, (int(x), int(y), int(z))) & mask for x, y, z in zip(a, b, c, strict=True)]
    assert [int(x) & mask for x in got] == want
