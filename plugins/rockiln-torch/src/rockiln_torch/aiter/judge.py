"""A call + an arch → why AITER does not run it, or "". Nothing is imported, launched or probed."""

from __future__ import annotations

from collections.abc import Mapping

from rockiln_kernels.call import Accepted, Call, check_call
from rockiln_kernels.expressions import evaluate_expression
from rockiln_kernels.selection.call_text import count_strides
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_torch.aiter.installed import find_failure, find_obstacle, find_unbuilt
from rockiln_torch.aiter.rules import NOT_THERE, OTHERWISE, RULES, Rule

_NATIVE_FP8 = {"gfx942": "e4m3fnuz"}
"""Other archs have e4m3. aiter/utility/dtypes.py, defaultDtypes."""


def judge_call(call: Call, arch: str, environ: Mapping[str, str] | None = None) -> str:
    """Why AITER does not run `call` on a GPU of `arch`; "" if it does. `environ`: instead of this process's."""
    rule = RULES.get(call.op)
    if rule is None:
        return OTHERWISE.get(call.op, NOT_THERE)
    return (
        find_obstacle(environ)
        or judge_rule(rule, call, arch)
        or find_unbuilt(rule.modules, environ)
        or find_failure(rule.function)
        or find_failure(make_key(call))
    )


def judge_rule(rule: Rule, call: Call, arch: str) -> str:
    """The same by the table alone, whatever is installed."""
    spec = read_table()[call.op]
    accepted = check_call(spec, call)
    if not isinstance(accepted, Accepted):
        return accepted.reason
    if arch not in rule.archs:
        return f"{rule.function} is for {' and '.join(rule.archs)}, this is {arch}"
    if there := [name for name in rule.absent if name in call.arrays]:
        return f"{rule.function} takes no {there[0]}"
    return _judge_dtypes(rule, spec, accepted, arch) or _judge_layout(call) or _judge_numbers(rule, accepted)


def make_key(call: Call) -> object:
    """What one call's failure is remembered by: shapes and dtypes."""
    arrays = tuple((name, value.shape, value.dtype) for name, value in call.arrays.items())
    return call.op, arrays, tuple(call.scalars.items()), tuple(call.dtypes.items())


def _judge_dtypes(rule: Rule, spec: OpSpec, accepted: Accepted, arch: str) -> str:
    cell = spec.cell_dtypes(accepted.cell)
    native = {axis: (_NATIVE_FP8.get(arch, "e4m3"),) for axis in rule.native_fp8}
    for axis, members in {**rule.dtypes, **native}.items():
        if cell[axis] not in members:
            return f"{rule.function} takes {' and '.join(members)} on {arch}, not {cell[axis]}"
    return ""


def _judge_layout(call: Call) -> str:
    for name, value in call.arrays.items():
        if not all(value.shape):
            return f"{name} is empty"
        if any(
            size > 1 and stride != expected
            for size, stride, expected in zip(value.shape, value.strides, count_strides(value.shape), strict=True)
        ):
            return f"{name} is not contiguous"
        if value.alignment % 16:
            return f"{name} is not aligned to 16 bytes"
    return ""


def _judge_numbers(rule: Rule, accepted: Accepted) -> str:
    broken = (reason for formula, reason in rule.conditions if not evaluate_expression(formula, accepted.names))
    return next((f"{rule.function}: {reason}" for reason in broken), "")
