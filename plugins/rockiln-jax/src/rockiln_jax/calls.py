"""Shapes and dtypes of arrays → a Call of rockiln_kernels, and what its outputs are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rockiln_jax.dtypes import name_dtype
from rockiln_jax.forms import OpForm
from rockiln_kernels.call import Accepted, ArrayValue, Call, Rejected, check_call
from rockiln_kernels.expressions import Value
from rockiln_kernels.outputs import OutputValue, list_outputs
from rockiln_kernels.selection.call_text import count_strides, format_call

WIDE = "float64"
"""Taken for f32 by the compositions, so that gradients can be checked in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpParams:
    """What a bound primitive carries beside its arrays; hashable."""

    present: tuple[bool, ...]
    """Of each input of the spec."""
    scalars: tuple[Value, ...]
    dtypes: tuple[str, ...]
    """Of each axis that no input decides, in the spec's order."""
    copies: int = 1
    """Of packed sequences: they, and the rows they lie in, come in so many equal parts, none of which sees another."""

    def spread(self, arrays: Sequence[Any]) -> list[Any]:
        """One entry an input of the spec, None where it is absent."""
        rest = iter(arrays)
        return [next(rest) if is_there else None for is_there in self.present]


def make_call(form: OpForm, params: OpParams, arrays: Sequence[Any]) -> Call:
    """The call; `arrays` have shape and dtype. XLA's buffers are contiguous, and aligned to 256 bytes."""
    given = zip(form.spec.inputs, params.spread(arrays), strict=True)
    scalars = zip(form.spec.scalars, params.scalars, strict=True)
    return Call(
        op=form.spec.name,
        arrays={
            array.name: ArrayValue(
                shape=tuple(value.shape), strides=count_strides(tuple(value.shape)), dtype=_name(value.dtype)
            )
            for array, value in given
            if value is not None
        },
        scalars={scalar.name: number for scalar, number in scalars},
        dtypes=dict(zip(form.open_axes, params.dtypes, strict=True)),
    )


def accept_call(form: OpForm, params: OpParams, arrays: Sequence[Any]) -> tuple[Accepted, tuple[OutputValue, ...]]:
    """What the spec makes of the call, and its outputs. Raises TypeError or ValueError with the rule it breaks."""
    call = make_call(form, params, arrays)
    accepted = check_call(form.spec, call)
    if isinstance(accepted, Rejected):
        kind = TypeError if accepted.kind == "type" else ValueError
        raise kind(f"{accepted.reason} [{format_call(call)}]")
    return accepted, list_outputs(form.spec, call.arrays, accepted)


def infer_outputs(form: OpForm, params: OpParams, arrays: Sequence[Any]) -> tuple[OutputValue, ...]:
    """Shapes and dtypes of the outputs. Raises as accept_call does."""
    return accept_call(form, params, arrays)[1]


def is_wide(arrays: Sequence[Any]) -> bool:
    """Whether a double is among them: no kernel takes one."""
    return any(str(array.dtype) == WIDE for array in arrays)


def _name(dtype: Any) -> str:
    name = name_dtype(dtype)
    return "f32" if name == WIDE else name
