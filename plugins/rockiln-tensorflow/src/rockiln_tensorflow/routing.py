"""A call → the op of the registry where a kernel pack runs it on this machine's GPU, else its composition.

Who runs a call is decided when it is made, which within tf.function is while it is traced. Where a dim is not known
then, both are in the graph, and the op RockilnServes asks dispatch when it runs.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from rockiln_kernels.dispatch.abi import DTYPE_CODES
from rockiln_kernels.dispatch.planner import Plan, Planner
from rockiln_tensorflow.calls import OpParams, is_known, is_wide, make_call, run_op
from rockiln_tensorflow.composed import Tensor, compose
from rockiln_tensorflow.composed.sizes import is_within_xla
from rockiln_tensorflow.dtypes import name_dtype
from rockiln_tensorflow.forms import OpForm
from rockiln_tensorflow.gradients import register_gradients
from rockiln_tensorflow.native import read_wrappers

LOGGER = logging.getLogger("rockiln_tensorflow")
KINDS = {"f32": 4, "i32": 2, "bool": 2}
"""rockiln_kind of a scalar's kind."""
PLAN_LIMIT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where calls on one kind of device go."""

    planner: Planner
    find_arch: Callable[[], str]
    """LLVM's name of the GPU; "" if there is none."""
    device: str = "GPU"
    plans: dict[Any, Plan] = field(default_factory=dict)
    """By call, at most PLAN_LIMIT, so that an eager call plans once; register() again, and they are made anew."""


class _Routes:
    route: Route | None = None
    is_settled = False
    """Somebody has opened or closed a route, so that none is looked for."""


def open_route(route: Route) -> None:
    """From now on, calls that are made go to the pack where it runs them."""
    register_gradients()
    _Routes.route, _Routes.is_settled = route, True


def close_route() -> None:
    """From now on, calls that are made go to compositions. What is traced stays as it is."""
    _Routes.route, _Routes.is_settled = None, True


def find_route() -> Route | None:
    """The open one. The first call registers the kernels where TensorFlow is built for ROCm and sees a GPU."""
    if not _Routes.is_settled:
        _Routes.is_settled = True
        if tf.test.is_built_with_rocm() and tf.config.list_physical_devices("GPU"):
            from rockiln_tensorflow.registration import register

            for what, reason in register(kernels=True, compat=False).rejected:
                LOGGER.warning("%s was not registered: %s", what, reason)
    return _Routes.route


def run_call(form: OpForm, params: OpParams, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs of a call that has been checked. In strict mode NotSelectedError where the pack does not run it."""
    route = find_route()
    if route is None or is_wide(tensors) or is_within_xla() or not _is_on(route.device):
        return run_composition(form, params, tensors)
    if not route.find_arch() or not _runs_here(route.device):
        return run_composition(form, params, tensors)
    if is_known(tensors):
        is_served = make_plan(route, form, params, tensors).provider == "pack"
        return run_op(form, params, tensors) if is_served else run_composition(form, params, tensors)
    served = _ask_later(form, params, tensors)
    outputs = tf.cond(served, lambda: run_op(form, params, tensors), lambda: run_composition(form, params, tensors))
    return tuple(outputs) if isinstance(outputs, (list, tuple)) else (outputs,)


def run_composition(form: OpForm, params: OpParams, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The same by TensorFlow's own ops."""
    scalars = dict(zip((item.name for item in form.spec.scalars), params.scalars, strict=True))
    dtypes = dict(zip(form.open_axes, params.dtypes, strict=True))
    return compose(form.spec.name)(*params.spread(tensors), **scalars, **dtypes)


def make_plan(route: Route, form: OpForm, params: OpParams, tensors: Sequence[Tensor]) -> Plan:
    """Who runs a call on the route's GPU; kept."""
    key = (form.spec.name, params, tuple((tuple(tensor.shape), tensor.dtype) for tensor in tensors))
    plan = route.plans.get(key)
    if plan is None:
        arch = route.find_arch()
        if len(route.plans) >= PLAN_LIMIT:
            route.plans.clear()
        plan = route.plans[key] = route.planner.make_plan(make_call(form, params, tensors), arch)
        LOGGER.info("%s [%s] on %s: %s: %s", plan.op, plan.call, arch, plan.kernel or plan.provider, plan.reason)
    return plan


def _is_on(device: str) -> bool:
    """Whether no tf.device says another kind of device."""
    asked = context.context().device_name if tf.executing_eagerly() else tf.no_op().device
    kind = tf.DeviceSpec.from_string(asked).device_type if asked else None
    return kind is None or kind == device


def _runs_here(device: str) -> bool:
    """Whether a call can run where it is made: an eager one needs the device; one that is traced may run elsewhere."""
    return not tf.executing_eagerly() or bool(tf.config.list_physical_devices(device))


def _ask_later(form: OpForm, params: OpParams, tensors: Sequence[Tensor]) -> Tensor:
    """Whether the pack runs the call, a bool on the host, when it runs."""
    dtypes = [0 if value is None else DTYPE_CODES[name_dtype(value.dtype)] for value in params.spread(tensors)]
    kinds = [item.kind for item in form.spec.scalars]
    with tf.device("/CPU:0"):
        return read_wrappers().RockilnServes(
            shapes=[tf.shape(tensor, out_type=tf.int64) for tensor in tensors],
            op=form.spec.name,
            input_dtypes=dtypes,
            scalar_kinds=[KINDS[kind] for kind in kinds],
            scalar_bits=[_read_bits(kind, number) for kind, number in zip(kinds, params.scalars, strict=True)],
            dtypes=[DTYPE_CODES[dtype] for dtype in params.dtypes],
        )


def _read_bits(kind: str, number: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", number))[0]) if kind == "f32" else int(number)
