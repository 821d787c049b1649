"""A call on tensors without data, sizes perhaps symbolic → empty outputs of the right shape: each op's fake."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from rockiln_kernels.expressions import evaluate_expression
from rockiln_kernels.spec import ArraySpec
from rockiln_torch.calls import BoundCall, OutputForm, bind_arguments, check_arguments, check_devices
from rockiln_torch.compose import unpack_outputs

Sizes = tuple[Any, ...]


def make_fake(op: str) -> Callable[..., Any]:
    """The kernel of `op` for the Meta key, which fake tensors use, too."""

    def fake(*args: Any, **kwargs: Any) -> Any:
        call = bind_arguments(op, args, kwargs)
        device = next(tensor.device for tensor in call.tensors if tensor is not None)
        forms = find_outputs(call)
        outputs = tuple(torch.empty(form.shape, dtype=form.dtype, device=device) for form in forms)
        return unpack_outputs(outputs)

    return fake


def make_out_fake(op: str) -> Callable[..., None]:
    """The same of its out-variant, which writes, and returns nothing."""

    def fake(*args: Any, **kwargs: Any) -> None:
        check_devices(bind_arguments(op, args, kwargs))

    return fake


def find_outputs(call: BoundCall) -> tuple[OutputForm, ...]:
    """The outputs' forms. Raises as check_arguments does; symbolic sizes are checked by their hints, without guards."""
    if not _is_symbolic(call):
        return check_arguments(call)
    forms = _check_hints(call)
    names = _bind_names(call)
    shapes = [_find_shape(array, call, names) for array in call.form.spec.outputs]
    return tuple(
        OutputForm(shape=shape, dtype=form.dtype) for shape, form in zip(shapes, forms, strict=True)
    )


def _is_symbolic(call: BoundCall) -> bool:
    scalars = any(isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) for value in call.scalars.values())
    return scalars or any(
        isinstance(size, torch.SymInt) for tensor in call.tensors if tensor is not None for size in tensor.shape
    )


def _check_hints(call: BoundCall) -> tuple[OutputForm, ...]:
    """Judge the call by the sizes that it is traced with."""
    hinted = tuple(
        None
        if tensor is None
        else torch.empty_strided(
            tuple(_read_hint(size) for size in tensor.shape), (0,) * tensor.dim(), dtype=tensor.dtype, device="meta"
        )
        for tensor in call.tensors
    )
    scalars = {name: _read_hint(value) for name, value in call.scalars.items()}
    return check_arguments(replace(call, tensors=hinted, scalars=scalars))


def _read_hint(value: Any) -> Any:
    if not isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return value
    hint = getattr(value.node, "hint", None)
    return value if hint is None else hint


def _bind_names(call: BoundCall) -> dict[str, Any]:
    """Dims by name, from the first array that has them alone, and scalars."""
    names: dict[str, Any] = dict(call.scalars)
    for array, tensor in zip(call.form.spec.inputs, call.tensors, strict=True):
        if tensor is not None:
            sizes = _fold_sizes(array, tuple(tensor.shape))
            for dim, size in zip(array.dims, sizes, strict=False):
                if dim.isidentifier():
                    names.setdefault(dim, size)
    return names


def _fold_sizes(array: ArraySpec, shape: Sizes) -> Sizes:
    extra = len(shape) - len(array.dims)
    if not array.folds_leading or extra == 0:
        return shape
    return (1, *shape) if extra < 0 else (math.prod(shape[: extra + 1]), *shape[extra + 1 :])


def _find_shape(output: ArraySpec, call: BoundCall, names: Mapping[str, Any]) -> Sizes:
    sizes = tuple(evaluate_expression(dim, names) for dim in output.dims)
    if not output.folds_leading:
        return sizes
    for array, tensor in zip(call.form.spec.inputs, call.tensors, strict=True):
        if tensor is not None and array.folds_leading and array.dims[0] == output.dims[0]:
            return (*tensor.shape[: tensor.dim() - len(array.dims) + 1], *sizes[1:])
    return sizes
