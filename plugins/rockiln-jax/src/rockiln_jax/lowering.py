"""A call at lowering → one custom call where the pack of the GPU's arch runs it, else the composition.

What XLA compiles is fixed before it runs, so who runs a call is decided here, by the planner, for the arch of the GPU
(or the one that `register(arch=...)` names). The custom call names op, scalars and dtypes; the kernel is looked up when
it runs, by librockiln.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import ffi
from jax.interpreters import mlir

from rockiln_jax.calls import OpParams, is_wide, make_call
from rockiln_jax.forms import OpForm
from rockiln_kernels.dispatch.planner import Plan, Planner

TARGET = "rockiln_call"
LOGGER = logging.getLogger("rockiln_jax")
DIVIDED = ("fused_moe",)
"""Starts of names of ops whose compositions XLA divides badly: one that takes an expert at a time gathers all."""
KINDS = {"f32": 4, "i32": 2, "bool": 2}
"""rockiln_kind of a scalar's kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where calls of one platform go."""

    target: str
    """Name of the FFI target."""
    planner: Planner
    find_arch: Callable[[], str]
    """LLVM's name of the GPU; "" if it cannot be known."""


_ROUTES: dict[str, Route] = {}
_PLATFORMS = ["rocm"]


def list_platforms() -> tuple[str, ...]:
    """Platforms whose lowering asks for a route."""
    return tuple(_PLATFORMS)


def open_route(platform: str, route: Route) -> None:
    """From now on, calls on `platform` go to the pack where it runs them."""
    _ROUTES[platform] = route
    if platform not in _PLATFORMS:
        from rockiln_jax.primitives import make_primitive

        _PLATFORMS.append(platform)
        make_primitive.cache_clear()


def has_route(platform: str) -> bool:
    """Whether calls on `platform` may go to a pack."""
    return platform in _ROUTES


def close_route(platform: str) -> None:
    """From now on, all calls on `platform` go to compositions. What is compiled stays as it is."""
    _ROUTES.pop(platform, None)


def is_divided(ctx: Any) -> bool:
    """Whether XLA's partitioner is to divide what is being lowered: jit on several devices, not within shard_map.

    An exported module outlives this process, and with it the rule by which calls are divided.
    """
    context = ctx.module_context
    devices = getattr(context.axis_context, "device_assignment", None)
    return devices is not None and len(devices) > 1 and not context.lowering_parameters.for_export


def lower_divided(form: OpForm, ctx: Any, *operands: Any, call: OpParams) -> Any:
    """A lowering rule, where is_divided: each device runs its part."""
    from rockiln_jax.partitioned import make_divided

    divided = make_divided(form, call, ctx.avals_in)
    return mlir.lower_fun(divided, multiple_results=True)(ctx, *operands)


def lower_call(form: OpForm, platform: str, composition: Any, ctx: Any, *operands: Any, call: OpParams) -> Any:
    """A lowering rule: one custom call, or the composition."""
    route = _ROUTES.get(platform)
    plan = make_plan(route, form, call, ctx.avals_in) if route else None
    if route is None or plan is None or plan.provider != "pack":
        return lower_composition(form, composition, ctx, *operands, call=call)
    if is_divided(ctx):
        return lower_divided(form, ctx, *operands, call=call)
    return ffi.ffi_lowering(route.target)(ctx, *operands, **write_attributes(form, call))


def lower_composition(form: OpForm, composition: Any, ctx: Any, *operands: Any, call: OpParams) -> Any:
    """A lowering rule: the composition, which XLA divides well by itself but for DIVIDED."""
    if form.spec.name.startswith(DIVIDED) and is_divided(ctx):
        return lower_divided(form, ctx, *operands, call=call)
    return composition(ctx, *operands, call=call)


def make_plan(route: Route, form: OpForm, call: OpParams, arrays: Sequence[Any]) -> Plan | None:
    """Who runs a call, None where no arch or no kernel can be had. Strict mode raises NotSelectedError."""
    arch = route.find_arch()
    if not arch or is_wide(arrays):
        LOGGER.info("%s: %s", form.spec.name, "float64" if arch else "the arch is unknown; register(arch=...) names it")
        return None
    plan = route.planner.make_plan(make_call(form, call, arrays), arch)
    LOGGER.info("%s [%s] on %s: %s: %s", plan.op, plan.call, arch, plan.kernel or plan.provider, plan.reason)
    return plan


def list_packs(form: OpForm, call: OpParams, arrays: Sequence[Any]) -> tuple[str, ...]:
    """Platforms whose pack runs a call; strict mode raises nothing, since another platform may be compiled for."""
    served = []
    for platform, route in _ROUTES.items():
        arch = "" if is_wide(arrays) else route.find_arch()
        if arch and route.planner.make_plan(make_call(form, call, arrays), arch, strict=False).provider == "pack":
            served.append(platform)
    return tuple(served)


def write_attributes(form: OpForm, call: OpParams) -> dict[str, Any]:
    """Attributes of the custom call; native/buffers.h says what each is."""
    from rockiln_kernels.dispatch.abi import DTYPE_CODES

    operand = iter(range(len(call.present)))
    kinds = [item.kind for item in form.spec.scalars]
    return {
        "op": form.spec.name,
        "inputs": np.array([next(operand) if is_there else -1 for is_there in call.present], np.int32),
        "scalar_kinds": np.array([KINDS[kind] for kind in kinds], np.int32),
        "scalar_bits": np.array(
            [_read_bits(kind, number) for kind, number in zip(kinds, call.scalars, strict=True)], np.int64
        ),
        "dtypes": np.array([DTYPE_CODES[dtype] for dtype in call.dtypes], np.int32),
    }


def _read_bits(kind: str, number: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", number))[0]) if kind == "f32" else int(number)
