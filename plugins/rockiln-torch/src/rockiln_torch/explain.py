"""An op and its arguments → Explanation: who runs that call, with what, why, and why nobody else. Nothing is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from rockiln_kernels.selection.call_text import format_call
from rockiln_torch.calls import BoundCall, OutputForm, bind_arguments, check_arguments
from rockiln_torch.compose import describe_composed
from rockiln_torch.dtypes import NAMES, name_dtype
from rockiln_torch.forms import read_forms
from rockiln_torch.stated import find_arch, state_call


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The answer for one call."""

    op: str
    arch: str
    """LLVM's name of the GPU, or the device's type where there is none."""
    provider: str
    """pack, aiter, cpu or framework."""
    kernel: str
    """Key of the pack's variant, AITER's function, or "cpu.OP.LEVEL"; "" where none of them runs it."""
    reason: str
    rejected: tuple[tuple[str, str], ...]
    """Every other candidate, and why it does not run the call."""
    call: str
    outputs: tuple[OutputForm, ...]

    def __str__(self) -> str:
        """Lines for a person."""
        lines = [f"{self.op} on {self.arch}: {self.kernel or self.provider}", f"  {self.reason}", f"  {self.call}"]
        return "\n".join([*lines, *(f"  not {name}: {reason}" for name, reason in self.rejected)])


def explain(op: str, *args: torch.Tensor | None, arch: str | None = None, **kwargs: Any) -> Explanation:
    """Who would run `op` on these arguments, which are those of torch.ops.rockiln.

    `arch`: as on a GPU of that name, wherever the tensors are; none has to be here. Without it a tensor asks the GPU
    that it is on, a CPU has kernels for some ops, and all else gets torch's own ops. Raises KeyError for an op that is
    not there, TypeError or ValueError for arguments that are none of the op.
    """
    if op not in read_forms():
        raise KeyError(f"there is no op called {op!r}; dir(torch.ops.rockiln) names them")
    call = bind_arguments(op, args, kwargs)
    outputs = check_arguments(call)
    gpu = arch or find_arch(call)
    if not gpu:
        return _explain_host(call, outputs)
    if reason := _find_misfit(call):
        return _explain_composed(call, outputs, reason, gpu)
    return _explain_planned(call, outputs, gpu)


def _find_misfit(call: BoundCall) -> str:
    """A dtype that compositions take and kernels do not."""
    axes = dict(call.form.spec.dtype_axes)
    for array, tensor in zip(call.form.spec.inputs, call.tensors, strict=True):
        members = axes.get(array.dtype, (array.dtype,))
        if tensor is not None and NAMES.get(tensor.dtype) not in members:
            return f"{array.name} is {name_dtype(tensor.dtype)}; kernels take {', '.join(members)}"
    return ""


def _explain_host(call: BoundCall, outputs: tuple[OutputForm, ...]) -> Explanation:
    """Of tensors that are on no GPU."""
    from rockiln_torch import cpu

    device = next(tensor.device.type for tensor in call.tensors if tensor is not None)
    if device != "cpu":
        return _explain_composed(call, outputs, "")
    if reason := cpu.judge_call(call):
        return _explain_composed(call, outputs, reason)
    return Explanation(
        op=call.form.spec.name,
        arch=device,
        provider="cpu",
        kernel=cpu.name_kernel(call.form.spec.name),
        reason=cpu.explain_reason(),
        rejected=(("pack", "its kernels are for GPUs"),),
        call=cpu.describe_call(call),
        outputs=outputs,
    )


def _explain_composed(call: BoundCall, outputs: tuple[OutputForm, ...], reason: str, arch: str = "") -> Explanation:
    device = next(tensor.device.type for tensor in call.tensors if tensor is not None)
    observed = describe_composed(call, reason)
    return Explanation(
        op=observed.op,
        arch=arch or device,
        provider="framework",
        kernel="",
        reason=observed.reason,
        rejected=(("pack", observed.reason),),
        call=observed.call,
        outputs=outputs,
    )


def _explain_planned(call: BoundCall, outputs: tuple[OutputForm, ...], arch: str) -> Explanation:
    from rockiln_kernels.dispatch import CallError, install
    from rockiln_torch.aiter.judge import judge_call
    from rockiln_torch.aiter.rules import RULES

    stated = state_call(call)
    try:
        plan = install().planner.make_plan(stated, arch, judge_aiter=judge_call)
    except CallError as error:
        return _explain_composed(call, outputs, str(error), arch)
    return Explanation(
        op=plan.op,
        arch=arch,
        provider=plan.provider,
        kernel=RULES[plan.op].function if plan.provider == "aiter" else plan.kernel or "",
        reason=plan.reason,
        rejected=tuple((item.candidate, item.reason) for item in plan.rejected),
        call=format_call(stated),
        outputs=outputs,
    )
