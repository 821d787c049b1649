"""How an op runs on one arch → Variant: kernels to compile, the launches of a call, and what a call must satisfy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rockiln_kernels.dtypes import DTYPES

Constant = int | float | bool | str
KernelClass = Literal["pointwise", "reduction", "matrix", "attention"]
"""What the lint expects: see pack/lint.py."""
MatrixKind = Literal["", "matrix", "scaled", "fp8"]
"""The matrix instruction that must be there: none, any, one with block scales, one that reads fp8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One run-time argument of a kernel, in order.

    `type` is a dtype's name for a pointer to it ("*bf16"), or i32, i64, f32. `value` is the name of an array, of a
    workspace, or a formula over dims, NAME_stride and scalars. `divisible_by` is what the compiled code relies on:
    bytes of an address, or the number itself.
    """

    name: str
    type: str
    value: str
    divisible_by: int = 1

    @property
    def triton_type(self) -> str:
        """The type in Triton's signature language."""
        return f"*{DTYPES[self.type[1:]].triton}" if self.type.startswith("*") else self.type.replace("f32", "fp32")


def pointer(name: str, dtype: str, value: str = "", *, divisible_by: int = 16) -> Argument:
    """A pointer to an array or workspace of the same name, unless `value` says another."""
    return Argument(name=name, type=f"*{dtype}", value=value or name, divisible_by=divisible_by)


def integer(name: str, value: str = "", *, divisible_by: int = 1, type: Literal["i32", "i64"] = "i32") -> Argument:  # noqa: A002  # Argument's own word
    """An integer argument: the dim, stride or scalar of the same name, unless `value` is a formula."""
    return Argument(name=name, type=type, value=value or name, divisible_by=divisible_by)


def number(name: str, value: str = "") -> Argument:
    """An f32 argument."""
    return Argument(name=name, type="f32", value=value or name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One function to compile: source, types, constants, and the compiler's options."""

    source: str
    """Module in ops/."""
    function: str
    args: tuple[Argument, ...]
    constants: tuple[tuple[str, Constant], ...]
    warps: int = 4
    stages: int = 1
    waves_per_eu: int = 0
    """0: the compiler decides."""
    matrix_instr_nonkdim: int = 0
    kernel_class: KernelClass = "pointwise"
    matrix: MatrixKind = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A kernel and its grid: three formulas over dims, strides, scalars and the kernel's own constants."""

    kernel: Kernel
    grid: tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Scratch memory that the caller allocates for one call; its content is undefined, before and after."""

    name: str
    dtype: str
    size: str
    """Formula: elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What a call must satisfy for this variant (the op itself accepts more)."""

    formula: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to run one cell of an op on an arch. Launches happen in order, on one stream."""

    op: str
    cell: str
    name: str
    """Tells the variants of one cell apart: "block1024"."""
    launches: tuple[Launch, ...]
    workspaces: tuple[Workspace, ...] = ()
    requires: tuple[Requirement, ...] = ()
    decoded: bool = False
    """Narrow inputs are widened before they are multiplied, for want of an instruction: marked `decode`."""
    rank: str = "0"
    """Formula; among the variants that a call satisfies, the smallest wins, then the order in make_variants."""

    @property
    def key(self) -> str:
        """Unique in a pack: op, cell and name."""
        return f"{self.op}/{self.cell}/{self.name}"
