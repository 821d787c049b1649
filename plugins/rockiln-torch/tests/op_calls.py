"""Golden cases → calls of torch.ops.rockiln: tensors by position, all else by keyword."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from golden_calls import make_tensors, make_words
from rockiln_kernels.golden import GoldenCase, read_golden
from rockiln_torch.forms import OpForm, read_forms
from rockiln_torch.gradients import is_differentiable, is_plain_float


@dataclass(frozen=True, slots=True, kw_only=True)
class OpCall:
    """One call of one op."""

    form: OpForm
    case: GoldenCase
    tensors: tuple[torch.Tensor | None, ...]
    words: dict[str, Any]

    @property
    def op(self) -> Any:
        """The functional op."""
        return getattr(torch.ops.rockiln, self.form.spec.name).default

    @property
    def out_op(self) -> Any:
        """The out-variant."""
        return getattr(torch.ops.rockiln, f"{self.form.spec.name}_out").default

    def call(self) -> tuple[torch.Tensor, ...]:
        """Its outputs, always a tuple."""
        result = self.op(*self.tensors, **self.words)
        return result if isinstance(result, tuple) else (result,)

    def call_out(self) -> tuple[torch.Tensor, ...]:
        """The same by the out-variant, into tensors full of ones."""
        outputs = tuple(value.clone().view(torch.uint8).fill_(1).view(value.dtype) for value in self.call())
        self.out_op(*self.tensors, **self.words, **dict(zip(self.form.out_names, outputs, strict=True)))
        return outputs


def make_call(case: GoldenCase) -> OpCall:
    """A case as a call."""
    form = read_forms()[case.op]
    words = make_words(case)
    if "format" in words:
        words["fp6_format"] = form.formats.index(words.pop("format"))
    return OpCall(form=form, case=case, tensors=make_tensors(case), words=words)


def _require_gradients(call: OpCall) -> OpCall:
    """All of its numbers require a gradient, where the op has any."""
    for tensor in call.tensors if is_differentiable(call.form.spec) else ():
        if tensor is not None and is_plain_float(tensor):
            tensor.requires_grad_()
    return call


def find_smallest(op: str, *, with_gradient: bool = False) -> OpCall:
    """The golden case of an op with the fewest numbers, but not an empty one."""
    cases = [case for case in read_golden(op) if all(array.size for array in case.inputs.values())]
    best = min(cases, key=lambda case: sum(array.size for array in case.inputs.values()))
    call = make_call(best)
    for array, tensor in zip(call.form.spec.inputs, call.tensors, strict=True):
        if tensor is not None:
            _tame(array.name, tensor)
    return _require_gradients(call) if with_gradient else call


def _tame(name: str, tensor: torch.Tensor) -> None:
    """Numbers small and finite, in place: opcheck takes no two NaNs for equal."""
    if tensor.is_floating_point():
        tensor.copy_(tensor.float().nan_to_num(0, 1, -1).clamp(-4, 4).to(tensor.dtype))
    elif name.endswith("_scale"):
        tensor.clamp_(120, 130)
