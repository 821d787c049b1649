"""What can go wrong in a launch → one exception tree; each names kernel, pc, instruction, workgroup, wave, lanes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The place of a fault. `lanes` is a bit mask; `address` is 0 where none is meant."""

    kernel: str
    pc: int
    instruction: str
    workgroup: tuple[int, int, int]
    wave: int
    lanes: int
    address: int

    def __str__(self) -> str:
        lanes = [str(lane) for lane in range(64) if self.lanes >> lane & 1]
        shown = f", lanes {','.join(lanes[:8])}{'…' if len(lanes) > 8 else ''}" if lanes else ""
        return f"{self.kernel}+{self.pc:#x} `{self.instruction}`, workgroup {self.workgroup}, wave {self.wave}{shown}"


class GfxemuError(Exception):
    """Anything gfxemu raises."""


class BadCodeObject(GfxemuError):  # noqa: N818  # the contract's name
    """The bytes are no AMD code object, or a damaged one."""


class UnsupportedArch(BadCodeObject):
    """The code object is for an arch that gfxemu does not know."""


class BadLaunch(GfxemuError):  # noqa: N818  # as above
    """The launch itself is wrong: kernarg size, block size, LDS size."""


class Fault(GfxemuError):  # noqa: N818  # the contract's name; a fault is what hardware would have, an error is ours
    """The program did what hardware punishes, or what nobody can rely on."""

    def __init__(self, message: str, where: Where | None = None) -> None:
        super().__init__(f"{message} [{where}]" if where else message)
        self.message = message
        self.where = where


class OutOfBounds(Fault):
    """An access outside of every buffer, of LDS, of scratch, or a jump outside of the code."""


class UninitializedRead(Fault):
    """Undefined bits reached an address, memory, EXEC or a branch."""


class MissingWait(Fault):
    """A register is used before the wait that says its load has come back."""


class Race(Fault):
    """Two waves (or lanes of one store) touch the same bytes with no barrier between, one of them writing."""


class Misaligned(Fault):
    """An address is not aligned as the access needs."""


class UnknownOpcode(Fault):
    """The program reached an opcode that has no semantics here; its name is in the message."""


class Hang(Fault):
    """A wave ran longer than the step limit."""


class RegisterBounds(Fault):
    """An instruction names a register beyond those the kernel asked for."""


class Deadlock(Fault):
    """All waves wait, and nothing can wake them."""


class Unsupported(Fault):
    """The program does something that is real but not modelled."""


KINDS: tuple[type[Fault], ...] = (
    Fault,
    OutOfBounds,
    UninitializedRead,
    MissingWait,
    Race,
    Misaligned,
    UnknownOpcode,
    Hang,
    RegisterBounds,
    Deadlock,
    Unsupported,
)  # in the order of FaultKind in core/state.h
