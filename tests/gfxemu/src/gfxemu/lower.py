"""Decoded instructions → micro-ops: one place where formats, generations and names become one meaning."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gfxemu import lower_matrix, lower_memory
from gfxemu.arch import Arch
from gfxemu.instruction import FLOAT_INLINE, Instruction, Operand
from gfxemu.micro import CONSTANT, EMPTY, EXECZ, SCALAR, SCC, VCCZ, VECTOR, Micro, Slot
from gfxemu.names import CACHE_NOTHING, CACHE_WRITE_BACK, NOTHING, core_name

M0, NULL, VCC = 124, 125, 106
APERTURES = {235: 0x00010000, 237: 0x00020000}  # SRC_SHARED_BASE, SRC_PRIVATE_BASE: core/state.h has the same
NO_WAIT = 0xFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """What lowering needs to know: the arch, where code lies, which op starts where, the core's op types."""

    arch: Arch
    code_address: int
    index: Mapping[int, int]
    types: Callable[[str], str | None]

    def lower(self, instruction: Instruction) -> Micro:
        """The micro-op of one single-issue instruction (or half); `unknown` where there is no meaning."""
        micro = self.dispatch(instruction)
        if micro is None or self.types(micro.op) is None:
            micro = Micro(op="unknown")
        micro.pc = instruction.address
        micro.next = instruction.address + instruction.size
        return micro

    def dispatch(self, i: Instruction) -> Micro | None:
        """The lowering of an instruction's unit."""
        if i.format in ("SOP1", "SOP2", "SOPC", "SOPK", "SOPP"):
            return self.lower_scalar(i)
        if i.mnemonic in CACHE_NOTHING:
            return Micro(op="cache_nothing")
        if i.mnemonic in CACHE_WRITE_BACK:
            return Micro(op="cache_write_back")
        if i.format in ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "SMEM"):
            return lower_memory.lower_memory(self, i)
        if "mfma" in i.mnemonic or "wmma" in i.mnemonic:
            return lower_matrix.lower_matrix(self, i)
        return self.lower_vector(i) if i.format.startswith("VOP") else None

    def slot(self, operand: Operand, kind: str = "u") -> Slot:
        """An operand for the core; `kind` is the core's type letter, which decides what constants look like."""
        if operand.kind in "va":
            return (VECTOR, operand.width, operand.index + (256 if operand.kind == "a" else 0), 0, 0)
        if operand.kind == "s":
            index = operand.index
            if self.arch.generation >= 11:
                index = {124: NULL, 125: M0}.get(index, index)
            return (SCALAR, operand.width, index, 0, 0)
        if operand.kind == "code" and operand.index in (251, 252, 253):
            return ((VCCZ, EXECZ, SCC)[operand.index - 251], 1, 0, 0, 0)
        bits = constant_bits(operand, kind)
        return (CONSTANT, operand.width, 0, bits & 0xFFFFFFFF, bits >> 32 & 0xFFFFFFFF)

    def slots(self, operands: Sequence[Operand], types: str) -> list[Slot]:
        """Sources with the types of an op."""
        return [self.slot(item, types[i + 1] if i + 1 < len(types) else "u") for i, item in enumerate(operands)]

    def lower_scalar(self, i: Instruction) -> Micro | None:
        """SOP1, SOP2, SOPC, SOPK, SOPP."""
        if i.mnemonic in NOTHING:
            return Micro(op="s_nop")
        if i.format == "SOPP" or i.base.startswith(
            ("s_waitcnt_", "s_call", "s_getreg", "s_setreg", "s_getpc", "s_setpc", "s_swappc", "s_barrier_signal")
        ):
            return self.lower_control(i)
        name = core_name(i.base)
        if i.format == "SOPK":
            return self.lower_short(i, name)
        dst = i.operand("sdst")
        sources = [item for item in i.operands if item.field != "sdst"]
        types = self.types(name) or "uuu"
        micro = Micro(op=name, src=self.slots(sources, types))
        if dst is not None:
            micro.dst = self.slot(dst)
            if name.startswith(("s_cmov_", "s_bitset")):
                micro.src.append(self.slot(dst))
            if i.base == "s_fmac_f32":
                micro.src.append(self.slot(dst))
        return micro

    def lower_short(self, i: Instruction, name: str) -> Micro | None:
        """SOPK: the 16-bit immediate becomes a constant source."""
        value = i.fields["simm16"]
        signed = value - 0x10000 if value & 0x8000 else value
        dst = i.operand("sdst")
        if dst is None:
            return None
        here, constant = self.slot(dst), (CONSTANT, 1, 0, signed & 0xFFFFFFFF, 0)
        if name == "s_movk_i32":
            return Micro(op="s_mov_b32", dst=here, src=[constant])
        if name == "s_cmovk_i32":
            return Micro(op="s_cmov_b32", dst=here, src=[constant, here])
        if name in ("s_addk_i32", "s_mulk_i32"):
            return Micro(
                op={"s_addk_i32": "s_add_i32", "s_mulk_i32": "s_mul_i32"}[name], dst=here, src=[here, constant]
            )
        if match := re.fullmatch(r"s_cmpk_(\w+)_([iu])32", name):
            constant = (CONSTANT, 1, 0, (signed if match[2] == "i" else value) & 0xFFFFFFFF, 0)
            return Micro(op=f"s_cmp_{match[1]}_{match[2]}32", src=[here, constant])
        return None

    def lower_control(self, i: Instruction) -> Micro | None:  # noqa: PLR0911  # one return a kind
        """Branches, waits, barriers, jumps, hardware registers."""
        name, simm = i.base, i.fields.get("simm16", 0)
        if name.startswith(("s_branch", "s_cbranch_", "s_call_b64")):
            return self.lower_branch(i, name, simm)
        if name.startswith("s_wait"):
            return Micro(op="s_waitcnt", control=wait_control(name, simm, self.arch.generation))
        if name in ("s_endpgm", "s_endpgm_saved"):
            return Micro(op="s_endpgm")
        if name == "s_code_end":
            return Micro(op="s_trap")
        if name in ("s_barrier", "s_sleep", "s_trap", "s_barrier_wait"):
            return Micro(op=name)
        if name == "s_barrier_signal":
            return Micro(op=name) if i.fields["src0"] == 193 else None  # -1: the workgroup's barrier
        if name in ("s_round_mode", "s_denorm_mode"):
            return Micro(op=name, control=simm)
        if name.startswith(("s_getreg", "s_setreg")):
            return self.lower_hardware_register(i, name, simm)
        if name in ("s_getpc_b64", "s_setpc_b64", "s_swappc_b64"):
            return self.lower_jump(i, name)
        return None

    def lower_branch(self, i: Instruction, name: str, simm: int) -> Micro | None:
        """Relative branches: the target is an op's number."""
        target = i.address + 4 + 4 * (simm - 0x10000 if simm & 0x8000 else simm)
        if target not in self.index:
            return None
        micro = Micro(op=name, target=self.index[target])
        if name == "s_call_b64" and (dst := i.operand("sdst")):
            micro.dst = self.slot(dst)
            micro.src = [EMPTY, EMPTY, EMPTY, self.address_slot(i.address + i.size)]
        return micro

    def address_slot(self, offset: int) -> Slot:
        """The run-time address of a code offset as a constant."""
        address = self.code_address + offset
        return (CONSTANT, 2, 0, address & 0xFFFFFFFF, address >> 32)

    def lower_jump(self, i: Instruction, name: str) -> Micro:
        """s_getpc, s_setpc, s_swappc."""
        dst, source = i.operand("sdst"), i.operand("src0")
        micro = Micro(
            op=name, src=[self.slot(source) if source else EMPTY, EMPTY, EMPTY, self.address_slot(i.address + i.size)]
        )
        if dst is not None and name != "s_setpc_b64":
            micro.dst = self.slot(dst)
        return micro

    def lower_hardware_register(self, i: Instruction, name: str, simm: int) -> Micro | None:
        """s_getreg_b32, s_setreg_b32, s_setreg_imm32_b32."""
        control = (simm & 63) | (simm >> 6 & 31) << 8 | ((simm >> 11) + 1) << 16
        dst = i.operand("sdst")
        if name == "s_getreg_b32" and dst:
            return Micro(op=name, dst=self.slot(dst), control=control)
        source = (CONSTANT, 1, 0, i.fields["literal"], 0) if "literal" in i.fields else self.slot(dst) if dst else EMPTY
        return Micro(op="s_setreg_b32", src=[source], control=control)

    def lower_vector(self, i: Instruction) -> Micro | None:
        """VOP1, VOP2, VOP3, VOP3P, VOPC."""
        from gfxemu.lower_vector import lower_vector

        return lower_vector(self, i)


def constant_bits(operand: Operand, kind: str) -> int:  # noqa: PLR0911  # one return a range of the encoding
    """An inline constant or literal as bits of the core's type `kind`."""
    if operand.kind == "literal":
        if kind == "d":
            return operand.value << 32
        return operand.value | (0xFFFFFFFF << 32 if kind == "I" and operand.value >> 31 else 0)
    code = operand.index
    if code in APERTURES:
        return APERTURES[code] << 32
    if code in FLOAT_INLINE or code == 248:
        value = FLOAT_INLINE.get(code, 0.15915494309189532)
        if kind in "UId":
            return int.from_bytes(struct.pack("<d", value), "little")
        if kind in "hst":
            return int.from_bytes(struct.pack("<e", value), "little")
        bits = int.from_bytes(struct.pack("<f", value), "little")
        return bits >> 16 if kind == "b" else bits
    if 128 <= code <= 192:
        return code - 128
    return (192 - code) & 0xFFFFFFFFFFFFFFFF if 193 <= code <= 208 else 0


def wait_control(name: str, simm: int, generation: int) -> int:
    """A wait's limits as load | store << 8 | ds << 16 | km << 24, 0xff where it does not wait."""
    load = store = ds = km = NO_WAIT
    if name == "s_waitcnt":
        if generation == 9:
            load, ds = (simm & 15) | (simm >> 14 & 3) << 4, simm >> 8 & 15
        else:
            load, ds = simm >> 10 & 63, simm >> 4 & 63
        load = NO_WAIT if load == 63 else load
        ds = NO_WAIT if ds == (15 if generation == 9 else 63) else ds
    elif name in ("s_waitcnt_vscnt", "s_wait_storecnt"):
        store = simm
    elif name in ("s_waitcnt_vmcnt", "s_wait_loadcnt"):
        load = simm
    elif name in ("s_waitcnt_lgkmcnt", "s_wait_dscnt"):
        ds = simm
    elif name == "s_wait_kmcnt":
        km = simm
    elif name == "s_wait_loadcnt_dscnt":
        load, ds = simm >> 8 & 63, simm & 63
    elif name == "s_wait_storecnt_dscnt":
        store, ds = simm >> 8 & 63, simm & 63
    return min(load, NO_WAIT) | min(store, NO_WAIT) << 8 | min(ds, NO_WAIT) << 16 | min(km, NO_WAIT) << 24
