"""An accepted call → what its outputs are, with the leading dims of the input that each follows. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rockiln_kernels.call import Accepted, ArrayValue, output_shape
from rockiln_kernels.spec import ArraySpec, OpSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputValue:
    """One output, contiguous. `shape` has all dims, as a framework's user sees them."""

    name: str
    shape: tuple[int, ...]
    dtype: str


def list_outputs(spec: OpSpec, arrays: Mapping[str, ArrayValue], accepted: Accepted) -> tuple[OutputValue, ...]:
    """Every output of a call that `spec` accepted, in order. `arrays`: the call's inputs."""
    cell = spec.cell_dtypes(accepted.cell)
    return tuple(
        OutputValue(
            name=output.name,
            shape=(*_find_leading(spec, output, arrays, accepted), *output_shape(output, accepted.names)[1:])
            if output.folds_leading
            else output_shape(output, accepted.names),
            dtype=cell.get(output.dtype, output.dtype),
        )
        for output in spec.outputs
    )


def _find_leading(
    spec: OpSpec, output: ArraySpec, arrays: Mapping[str, ArrayValue], accepted: Accepted
) -> tuple[int, ...]:
    """The dims that the first one stands for: those of the first input that folds the same name."""
    for array in spec.inputs:
        if array.folds_leading and array.dims[0] == output.dims[0] and array.name in arrays:
            shape = arrays[array.name].shape
            return shape[: len(shape) - len(array.dims) + 1]
    return output_shape(output, accepted.names)[:1]
