"""A bound call → its outputs, by AITER or the framework's own ops: what runs where no kernel of ours does."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from typing import Any

import torch

from rockiln_torch.calls import BoundCall, OutputForm, check_arguments, check_layout
from rockiln_torch.framework.tensors import is_wrapped
from rockiln_torch.observe import ObservedCall, note_call, observers
from rockiln_torch.ranges import current

Composition = Callable[..., tuple[torch.Tensor, ...]]
LOG = logging.getLogger("rockiln_torch")


@lru_cache(maxsize=256)
def find_composition(op: str) -> Composition:
    """The framework's composition of an op: tensors in the spec's order, then scalars by name → a tuple."""
    from rockiln_torch.framework import compose

    composition: Composition = compose(op)
    return composition


def compose_call(call: BoundCall, reason: str = "", *, asks_aiter: bool = False) -> tuple[torch.Tensor, ...]:
    """The outputs. `asks_aiter`: the call was planned for a GPU, and no kernel of ours runs it.

    Raises TypeError or ValueError for what is no call of the op.
    """
    forms = check_arguments(call)
    name = call.form.spec.name
    for range_ in current:
        range_.push(f"rockiln::{name}")
    try:
        with torch.no_grad():  # gradients are gradients.py's
            outputs = _run_call(call, forms, reason, asks_aiter=asks_aiter)
    finally:
        for range_ in current:
            range_.pop()
    return tuple(_settle(output, form, call) for output, form in zip(outputs, forms, strict=True))


def _run_call(
    call: BoundCall, forms: tuple[OutputForm, ...], reason: str, *, asks_aiter: bool
) -> tuple[torch.Tensor, ...]:
    if asks_aiter:
        from rockiln_torch.aiter.provider import call_aiter  # a CPU never needs it

        answer = call_aiter(call, forms, reason)
        if isinstance(answer, tuple):
            return answer
        reason = f"{reason}; not AITER: {answer}"
    if observers:
        note_call(describe_composed(call, reason))
    return find_composition(call.form.spec.name)(*call.tensors, **call.words)


def write_outputs(call: BoundCall, reason: str = "", *, asks_aiter: bool = False) -> None:
    """The same, into the tensors of an out-variant, of any strides; they may be inputs, too."""
    check_outputs(call)
    values = compose_call(call, reason, asks_aiter=asks_aiter)
    for output, value in zip(call.outputs, values, strict=True):
        output.copy_(value)


def check_outputs(call: BoundCall) -> None:
    """Whether the tensors of an out-variant are as the op's outputs. Raises TypeError or ValueError."""
    forms = check_arguments(call)
    for name, form, output in zip(call.form.out_names, forms, call.outputs, strict=True):
        check_layout(output, f"rockiln::{call.form.spec.name}_out: {name}")
        if tuple(output.shape) != form.shape:
            raise ValueError(f"rockiln::{call.form.spec.name}_out: {name} is {[*output.shape]}, not {[*form.shape]}")
        if output.dtype != form.dtype:
            raise TypeError(f"rockiln::{call.form.spec.name}_out: {name} is {output.dtype}, not {form.dtype}")
        if output.device != next(tensor.device for tensor in call.tensors if tensor is not None):
            raise ValueError(f"rockiln::{call.form.spec.name}_out: {name} is on {output.device}, the inputs are not")
    if len(call.outputs) > 1:
        _check_apart(call)


def _check_apart(call: BoundCall) -> None:
    """Whether no two outputs share memory, where the later one would be all that is left. Raises ValueError.

    Of tensors with gaps only those that begin in one place are known to: rows of one tensor may lie between another's.
    """
    named = [
        (name, output)
        for name, output in zip(call.form.out_names, call.outputs, strict=True)
        if type(output) is torch.Tensor and not is_wrapped(output) and output.numel()  # else no address means anything
    ]
    for (one, output), (other, later) in combinations(named, 2):
        if _share_memory(output, later):
            raise ValueError(f"rockiln::{call.form.spec.name}_out: {one} and {other} share memory; hint: a tensor each")


def _share_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    first, second = one.data_ptr(), other.data_ptr()
    if first == second or not (one.is_contiguous() and other.is_contiguous()):
        return first == second
    return first < second + other.nbytes and second < first + one.nbytes


def unpack_outputs(outputs: tuple[torch.Tensor, ...]) -> Any:
    """As the schema has it: one output is no tuple."""
    return outputs[0] if len(outputs) == 1 else outputs


def describe_composed(call: BoundCall, reason: str) -> ObservedCall:
    """What a profile shows of a composed call."""
    words = [
        f"{array.name}={str(tensor.dtype).removeprefix('torch.')}{[*tensor.shape]}"
        for array, tensor in zip(call.form.spec.inputs, call.tensors, strict=True)
        if tensor is not None
    ]
    words += [f"{name}={value}" for name, value in call.words.items()]
    device = next((tensor.device.type for tensor in call.tensors if tensor is not None), "")
    return ObservedCall(
        op=call.form.spec.name,
        provider="framework",
        kernel=f"framework.{call.form.spec.name}",
        reason=reason or f"no kernels for {device}",
        call=" ".join(words),
    )


def _settle(output: torch.Tensor, form: OutputForm, call: BoundCall) -> torch.Tensor:
    """An output as the fake promises it: no input, and of the strides that a new tensor has."""
    if any(output is tensor for tensor in call.tensors):
        output = output.clone(memory_format=torch.contiguous_format)
    if output.stride() == form.strides:
        return output
    output = output.contiguous()  # which leaves the strides of dims of size 1
    return output.as_strided_(form.shape, form.strides)
