"""An OpSpec → OpForm: how the op's arguments are written in torch, and its two schemas. Pure, and imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.spec import OpSpec, ScalarSpec
from rockiln_kernels.table import read_table

PACKED_FORMATS = frozenset({"e2m3", "e3m2"})
"""Elements that torch has no dtype for: their arrays are uint8, and an argument `fp6_format` says which."""
_KINDS = {"f32": ("f", "float"), "i32": ("i", "int"), "bool": ("b", "bool")}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpForm:
    """One op in torch: tensors by position in the spec's order, then all else by keyword."""

    spec: OpSpec
    dtype_axis: str
    """The axis that `out_dtype` names, or "": the inputs decide all."""
    format_axis: str
    """The axis that `fp6_format` names, or ""."""

    @property
    def formats(self) -> tuple[str, ...]:
        """What `fp6_format` may be: it is a place in these."""
        return dict(self.spec.dtype_axes)[self.format_axis] if self.format_axis else ()

    @property
    def fixed_dtype(self) -> str:
        """The dtype of an axis that no input decides and that has one member only, or ""."""
        shown = {array.dtype for array in self.spec.inputs}
        return "".join(members[0] for axis, members in self.spec.dtype_axes if axis not in shown and len(members) == 1)

    @property
    def out_names(self) -> tuple[str, ...]:
        """Names of NAME_out's outputs."""
        return tuple(output.name for output in self.spec.outputs)

    @property
    def kinds(self) -> str:
        """A letter an argument, as native/table.h says."""
        tensors = "".join("o" if array.optional else "t" for array in self.spec.inputs)
        scalars = "".join(_KINDS[scalar.kind][0] for scalar in self.spec.scalars)
        return tensors + scalars + ("d" if self.dtype_axis else "") + ("k" if self.format_axis else "")

    @property
    def schema(self) -> str:
        """Of the functional op, its name left out."""
        outputs = [f"Tensor {name}" for name in self.out_names]
        returns = f"({', '.join(outputs)})" if len(outputs) > 1 else "Tensor"
        return f"({', '.join(self._list_arguments())}) -> {returns}"

    @property
    def out_schema(self) -> str:
        """Of NAME_out. It returns nothing, so that torch can make it functional by itself."""
        arguments = self._list_arguments()
        if "*" not in arguments:
            arguments.append("*")
        aliases = [f"Tensor({chr(ord('a') + place)}!) {name}" for place, name in enumerate(self.out_names)]
        return f"({', '.join([*arguments, *aliases])}) -> ()"

    def _list_arguments(self) -> list[str]:
        tensors = [
            f"Tensor? {array.name}=None" if array.optional else f"Tensor {array.name}" for array in self.spec.inputs
        ]
        words = [_write_scalar(scalar) for scalar in self.spec.scalars]
        words += ["ScalarType out_dtype"] if self.dtype_axis else []
        words += ["int fp6_format=0"] if self.format_axis else []
        return [*tensors, *(["*", *words] if words else [])]


def _write_scalar(scalar: ScalarSpec) -> str:
    word = f"{_KINDS[scalar.kind][1]} {scalar.name}"
    return word if scalar.default is None else f"{word}={scalar.default!r}"


def make_form(spec: OpSpec) -> OpForm:
    """How `spec` is written in torch."""
    decided = {array.dtype for array in spec.inputs if not array.optional}
    open_axes = [(axis, members) for axis, members in spec.dtype_axes if axis not in decided and len(members) > 1]
    formats = [axis for axis, members in open_axes if set(members) <= PACKED_FORMATS]
    dtypes = [axis for axis, members in open_axes if set(members) <= DTYPES.keys() - PACKED_FORMATS]
    if len(formats) + len(dtypes) != len(open_axes) or len(formats) > 1 or len(dtypes) > 1:
        raise ValueError(f"{spec.name}: two dtypes that no input decides cannot both be out_dtype")
    return OpForm(spec=spec, dtype_axis="".join(dtypes), format_axis="".join(formats))


@lru_cache(maxsize=1)
def read_forms() -> dict[str, OpForm]:
    """Op name → form, sorted by name, as the native table has them."""
    return {name: make_form(spec) for name, spec in read_table().items()}
