"""Ops → what their Autograd key runs: the table's backward op where there is one, else the composition's gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import torch

from rockiln_kernels.spec import Gradient, OpSpec
from rockiln_torch.calls import BoundCall, bind_arguments, check_arguments
from rockiln_torch.compose import find_composition, unpack_outputs
from rockiln_torch.compose_backward import differentiate
from rockiln_torch.dtypes import FLOATS
from rockiln_torch.forms import read_forms
from rockiln_torch.framework.tensors import has_tangent

Tensors = tuple[torch.Tensor | None, ...]


def is_differentiable(spec: OpSpec) -> bool:
    """Numbers in, numbers out: no backward op itself, and its first output is not quantised."""
    axes = {axis for axis, members in spec.dtype_axes if set(members) <= FLOATS}
    takes = any(array.dtype in axes for array in spec.inputs)
    return takes and spec.outputs[0].dtype in {*axes, "f32", "bf16"} and not spec.name.endswith("_backward")


def make_autograd(op: str, overload: Any) -> Callable[..., Any]:
    """The kernel of `op` for the Autograd key. Without a gradient to record it costs one test."""

    def run_below(keyset: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        with torch._C._AutoDispatchBelowAutograd():  # noqa: SLF001
            return overload.redispatch(keyset & torch._C._after_autograd_keyset, *args, **kwargs)  # noqa: SLF001

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_transformed(args):
            return _compose_above(op, args, kwargs)
        if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in args):
            forward = partial(_forward_below, run_below, keyset, kwargs)
            return OpFunction.apply(op, kwargs, forward, *args)  # type: ignore[no-untyped-call]
        return run_below(keyset, args, kwargs)

    return kernel


def _is_transformed(args: Sequence[Any]) -> bool:
    """Whether torch.func or forward mode differentiates the call: neither takes an autograd.Function from here."""
    is_func = torch._C._are_functorch_transforms_active() and torch.is_grad_enabled()  # noqa: SLF001  # as Function asks
    return (is_func and any(tensor is not None and tensor.requires_grad for tensor in args)) or has_tangent(*args)


def _compose_above(op: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """By torch's own ops, which know their derivatives: of any order, forward and backward."""
    call = bind_arguments(op, args, kwargs)
    check_arguments(call)
    return unpack_outputs(find_composition(op)(*call.tensors, **call.words))


def _forward_below(run_below: Callable[..., Any], keyset: Any, kwargs: dict[str, Any], *tensors: Any) -> Any:
    return run_below(keyset, tensors, kwargs)


class OpFunction(torch.autograd.Function):
    """Any op: forward below autograd; backward as `find_gradients` says."""

    @staticmethod
    def forward(_op: str, _kwargs: dict[str, Any], forward: Callable[..., Any], *tensors: Any) -> Any:
        """What the device's kernel gives."""
        return forward(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep what backward needs: arguments and outputs."""
        ctx.op, ctx.kwargs, _, *tensors = inputs
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.count = len(tensors)
        ctx.save_for_backward(*tensors, *outputs)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(value for value in outputs if not is_plain_float(value)))

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor | None) -> Any:
        """Gradients of the op's tensors; None for its other arguments."""
        if torch.is_grad_enabled():
            raise RuntimeError(f"rockiln::{ctx.op} has no second derivative; hint: create_graph=True asks for one")
        saved = ctx.saved_tensors
        tensors, outputs = saved[: ctx.count], saved[ctx.count :]
        call = bind_arguments(ctx.op, tensors, ctx.kwargs)
        gradients = find_gradients(call, outputs, slopes, tuple(ctx.needs_input_grad[3:]))
        return (None, None, None, *gradients[: ctx.count])


def is_plain_float(tensor: torch.Tensor) -> bool:
    """Of a type that gradients may have: no narrow one."""
    return tensor.is_floating_point() and tensor.element_size() > 1


def find_gradients(
    call: BoundCall, outputs: Sequence[torch.Tensor], slopes: Sequence[torch.Tensor | None], needs: tuple[bool, ...]
) -> Tensors:
    """Gradients in the order of the inputs. `slopes`: of the outputs, None for 0."""
    needs = needs + (False,) * (len(call.tensors) - len(needs))
    if all(slope is None for slope in slopes) or not any(needs):
        return (None,) * len(call.tensors)
    gradient = call.form.spec.gradient
    if gradient is None or not _serves_gradient(gradient, call, slopes, needs):
        return differentiate(call.form.spec.name, call.tensors, call.scalars, slopes, needs)
    return _call_gradient(gradient, call, outputs, slopes)


def _serves_gradient(
    gradient: Gradient, call: BoundCall, slopes: Sequence[torch.Tensor | None], needs: tuple[bool, ...]
) -> bool:
    """Whether the backward op takes every slope that there is and gives every gradient that is wanted."""
    taken = {source.removeprefix("grad ") for _, source in gradient.inputs if source.startswith("grad ")}
    given = {target for _, target in gradient.outputs}
    names = [array.name for array in call.form.spec.inputs]
    slopes_fit = all(
        (slope is not None) == (output.name in taken)
        for output, slope in zip(call.form.spec.outputs, slopes, strict=True)
    )
    gives_all = all(name in given for name, need in zip(names, needs, strict=True) if need)
    return slopes_fit and gives_all


def _call_gradient(
    gradient: Gradient, call: BoundCall, outputs: Sequence[torch.Tensor], slopes: Sequence[torch.Tensor | None]
) -> Tensors:
    spec = call.form.spec
    arrays: dict[str, torch.Tensor | None] = {
        array.name: tensor for array, tensor in zip(spec.inputs, call.tensors, strict=True)
    }
    for output, value, slope in zip(spec.outputs, outputs, slopes, strict=True):
        arrays.setdefault(output.name, value)
        arrays[f"grad {output.name}"] = None if slope is None else slope.contiguous()
    found = _find_op(gradient.op)(*(arrays[source] for _, source in gradient.inputs), **call.scalars)
    made = found if isinstance(found, tuple) else (found,)
    by_input = {target: value for (_, target), value in zip(gradient.outputs, made, strict=True)}
    return tuple(by_input.get(array.name) for array in spec.inputs)


@lru_cache(maxsize=256)
def _find_op(name: str) -> Any:
    return getattr(torch.ops.rockiln, name).default


def forget_ops() -> None:
    """After the ops were withdrawn."""
    _find_op.cache_clear()


def list_differentiable() -> tuple[str, ...]:
    """Names of all ops with a gradient."""
    return tuple(name for name, form in read_forms().items() if is_differentiable(form.spec))
