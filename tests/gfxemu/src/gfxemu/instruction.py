"""A decoded instruction as a frozen value: mnemonic, operands, modifiers; `text()` writes it as LLVM does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# LLVM's inline constants (ISA documents, table "Scalar operand encodings")
FLOAT_INLINE = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0}
NAMED = {
    102: "flat_scratch_lo",
    103: "flat_scratch_hi",
    104: "xnack_mask_lo",
    105: "xnack_mask_hi",
    106: "vcc_lo",
    107: "vcc_hi",
    126: "exec_lo",
    127: "exec_hi",
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
}
PAIRS = {102: "flat_scratch", 104: "xnack_mask", 106: "vcc", 126: "exec"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One operand. kind: v, a, s (registers), code (an encoded constant, 128-254), literal, text.

    index: register number, or the encoding; width: dwords; half: "l" or "h" for gfx11's 16-bit registers.
    """

    field: str
    kind: str
    index: int = 0
    width: int = 1
    value: int = 0
    half: str = ""
    label: str = ""

    def text(self, generation: int) -> str:
        """The operand as LLVM writes it."""
        if self.kind == "text":
            return self.label
        if self.kind == "literal":
            return f"{self.value:#x}"
        if self.kind in "va":
            name = (
                f"{self.kind}{self.index}"
                if self.width == 1
                else f"{self.kind}[{self.index}:{self.index + self.width - 1}]"
            )
            return name + (f".{self.half}" if self.half and generation == 11 else "")  # LLVM hides gfx12's halves
        return self.scalar_text(generation)

    def scalar_text(self, generation: int) -> str:  # noqa: PLR0911  # one return a range of the encoding
        """Scalar registers and inline constants."""
        code = self.index
        null, m0 = (124, 125) if generation >= 11 else (-1, 124)
        if code in (m0, null):
            return "m0" if code == m0 else "null"
        if self.width == 2 and code in PAIRS and not (generation >= 10 and code < 106):
            return PAIRS[code]
        if code in NAMED and not (generation >= 10 and code < 106):
            return NAMED[code]
        if code <= 105:
            return f"s{code}" if self.width == 1 else f"s[{code}:{code + self.width - 1}]"
        if code <= 123:
            first = code - 108
            return f"ttmp{first}" if self.width == 1 else f"ttmp[{first}:{first + self.width - 1}]"
        if 128 <= code <= 192:
            return str(code - 128)
        if 193 <= code <= 208:
            return str(192 - code)
        return str(FLOAT_INLINE[code]) if code in FLOAT_INLINE else "0.15915494" if code == 248 else f"?{code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction at byte `address` of its section. `fields` are the format's raw fields and extra dwords'."""

    address: int
    size: int
    mnemonic: str
    format: str
    generation: int
    operands: tuple[Operand, ...] = ()
    fields: Mapping[str, int] = field(default_factory=dict)
    parts: tuple[Instruction, ...] = ()  # the two halves of a dual-issue instruction

    @property
    def base(self) -> str:
        """The mnemonic without the suffix that says how it is encoded."""
        for suffix in ("_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"):
            if self.mnemonic.endswith(suffix):
                return self.mnemonic.removesuffix(suffix)
        return self.mnemonic

    def operand(self, name: str) -> Operand | None:
        """The operand in a field, or None."""
        return next((item for item in self.operands if item.field == name), None)

    def text(self) -> str:
        """One line as LLVM writes it, modifiers included as far as tests compare them."""
        from gfxemu.text import write_text

        return write_text(self)
