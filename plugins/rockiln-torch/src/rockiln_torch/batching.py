"""Ops → their batching rules for torch.vmap: a batch is one more leading dim where the op folds those, else a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from rockiln_kernels.spec import OpSpec

Dims = Sequence[int | None]


def make_batching(spec: OpSpec, overload: Any) -> Callable[..., Any]:
    """The kernel of an op for the key of vmap's tensors."""

    def rule(info: Any, in_dims: Dims, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if folds_batch(spec, in_dims):
            return call_folded(spec, overload, info.batch_size, in_dims, args, kwargs)
        return call_each(overload, info.batch_size, in_dims, args, kwargs)

    def kernel(_keyset: Any, *args: Any, **kwargs: Any) -> Any:
        from torch._functorch.autograd_function import custom_function_call_vmap_helper
        from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

        interpreter: Any = retrieve_current_functorch_interpreter()
        return custom_function_call_vmap_helper(interpreter, rule, overload, *args, **kwargs)

    return kernel


def folds_batch(spec: OpSpec, in_dims: Dims) -> bool:
    """Whether every batched input folds its leading dims, and no other input has that dim by its size."""
    folding = {array.dims[0] for array in spec.inputs if array.folds_leading}
    plain = {dim for array in spec.inputs if not array.folds_leading for dim in array.dims}
    batched = [array for array, dim in zip(spec.inputs, in_dims, strict=False) if dim is not None]
    outputs = all(output.folds_leading or output.dims[0] in folding for output in spec.outputs)
    return outputs and not folding & plain and all(array.folds_leading for array in batched)


def call_folded(
    spec: OpSpec, overload: Any, count: int, in_dims: Dims, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """One call with the batch in front."""
    moved = [
        _move_front(arg, dim, count) if array.folds_leading else arg
        for array, arg, dim in zip(spec.inputs, args, in_dims, strict=False)
    ]
    result = overload(*moved, **kwargs)
    outputs = result if isinstance(result, tuple) else (result,)
    shaped = tuple(
        value if output.folds_leading else value.unflatten(0, (count, -1))
        for output, value in zip(spec.outputs, outputs, strict=True)
    )
    return (shaped, (0,) * len(shaped)) if isinstance(result, tuple) else (shaped[0], 0)


def _move_front(arg: Any, dim: int | None, count: int) -> Any:
    if arg is None:
        return None
    return arg.expand(count, *arg.shape).contiguous() if dim is None else arg.movedim(dim, 0).contiguous()


def call_each(
    overload: Any, count: int, in_dims: Dims, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """A call for every element of the batch, stacked."""
    results = [
        overload(*(_select(arg, dim, place) for arg, dim in zip(args, in_dims, strict=False)), **kwargs)
        for place in range(count)
    ]
    if isinstance(results[0], tuple):
        return tuple(torch.stack(values) for values in zip(*results, strict=True)), (0,) * len(results[0])
    return torch.stack(results), 0


def _select(arg: Any, dim: int | None, place: int) -> Any:
    return arg if dim is None else arg.select(dim, place)
