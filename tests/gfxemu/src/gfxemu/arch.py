"""LLVM's name of an arch → what the emulator must know about it."""

from __future__ import annotations

from dataclasses import dataclass

from gfxemu.faults import UnsupportedArch


@dataclass(frozen=True, slots=True, kw_only=True)
class Arch:
    """One target. `table` names the opcode table, which neighbours share."""

    name: str
    generation: int
    lanes: int
    table: str
    fnuz: bool
    number: int
    vgpr_granule: int
    machine: int  # ELF e_flags, EF_AMDGPU_MACH


ARCHES = {
    arch.name: arch
    for arch in (
        Arch(
            name="gfx90a", generation=9, lanes=64, table="gfx90a", fnuz=False, number=90, vgpr_granule=8, machine=0x3F
        ),
        Arch(
            name="gfx942", generation=9, lanes=64, table="gfx942", fnuz=True, number=942, vgpr_granule=8, machine=0x4C
        ),
        Arch(
            name="gfx950", generation=9, lanes=64, table="gfx950", fnuz=False, number=950, vgpr_granule=8, machine=0x4F
        ),
        Arch(
            name="gfx1100",
            generation=11,
            lanes=32,
            table="gfx1100",
            fnuz=False,
            number=1100,
            vgpr_granule=8,
            machine=0x41,
        ),
        Arch(
            name="gfx1101",
            generation=11,
            lanes=32,
            table="gfx1100",
            fnuz=False,
            number=1101,
            vgpr_granule=8,
            machine=0x46,
        ),
        Arch(
            name="gfx1200",
            generation=12,
            lanes=32,
            table="gfx1201",
            fnuz=False,
            number=1200,
            vgpr_granule=8,
            machine=0x48,
        ),
        Arch(
            name="gfx1201",
            generation=12,
            lanes=32,
            table="gfx1201",
            fnuz=False,
            number=1201,
            vgpr_granule=8,
            machine=0x4E,
        ),
    )
}


def find_arch(machine: int) -> Arch:
    """The arch of a code object's e_flags machine number; UnsupportedArch names what is known."""
    for arch in ARCHES.values():
        if arch.machine == machine:
            return arch
    raise UnsupportedArch(f"code object for machine {machine:#x}; known are {', '.join(ARCHES)}")
