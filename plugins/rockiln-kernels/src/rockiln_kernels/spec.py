"""What an op takes and gives → OpSpec. Pure data, no framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rockiln_kernels.expressions import Value

Layout = Literal["contiguous", "rows"]
"""`rows`: the last dim is contiguous, and the first has any stride, known to formulas as NAME_stride (elements)."""
ScalarKind = Literal["f32", "i32", "bool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArraySpec:
    """One array of an op.

    `dims` are names, bound by the inputs, or formulas of them ("N // 32"). `dtype` is one of DTYPES or the name of one
    of the op's dtype axes. `folds_leading`: any number of leading dims counts as the first one, multiplied.
    """

    name: str
    dims: tuple[str, ...]
    dtype: str
    layout: Layout = "contiguous"
    folds_leading: bool = False
    optional: bool = False
    """May be absent; formulas see has_NAME as 0 or 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarSpec:
    """A number that the caller passes; `default` None means that it must be given."""

    name: str
    kind: ScalarKind
    default: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """What must hold of dims, strides and scalars, and what to tell a person when it does not."""

    formula: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradient:
    """The op that computes the gradient.

    `inputs` maps each of its inputs to an array of the forward op or to "grad NAME" (of an output); `outputs` maps each
    of its outputs to the forward input whose gradient it is.
    """

    op: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpSpec:
    """One op: the single source of signatures, fakes, documentation and tests."""

    name: str
    summary: str
    """One sentence with the formula."""
    dtype_axes: tuple[tuple[str, tuple[str, ...]], ...]
    """("T", ("f32", "f16", "bf16")): the types that arrays may have together."""
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]
    scalars: tuple[ScalarSpec, ...] = ()
    mutates: tuple[str, ...] = ()
    """Inputs written in place."""
    constraints: tuple[Constraint, ...] = ()
    gradient: Gradient | None = None
    is_mx: bool = False
    """Its fp8 is OCP's on every arch, as the MX formats define; else it is the kind that the arch computes with."""
    source: str = ""
    """Where a format or formula is defined, when it is not ours."""

    @property
    def arrays(self) -> tuple[ArraySpec, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def cells(self) -> tuple[str, ...]:
        """Every combination of dtypes, named "bf16" or "bf16-e4m3": the columns of the wanted and support tables."""
        names = [""]
        for _, members in self.dtype_axes:
            names = [f"{name}-{member}" if name else member for name in names for member in members]
        return tuple(names)

    def cell_dtypes(self, cell: str) -> dict[str, str]:
        """Axis → dtype of one cell; {"T": "bf16", "Q": "e4m3"} of "bf16-e4m3"."""
        return dict(zip((axis for axis, _ in self.dtype_axes), cell.split("-"), strict=True))
