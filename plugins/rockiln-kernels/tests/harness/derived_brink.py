"""Ops that compute and then round to fp8 or fp4 → a case whose results lie beside the middles of neighbouring codes.

Elsewhere a code hides what is wrong by less than half its step, a sixteenth and more. Here the last factor of a result
(up, or the weight of a row's norm) is chosen for each: as near to a middle as its type allows, above or below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from harness.case import Array, Case, draw, make_generator, numpy_dtype
from rockiln_kernels.references.narrow import MX_BLOCK, list_magnitudes, scale_fp8
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_origins

_COLUMNS = 992
"""A multiple of 32, which fills the smaller blocks of rows but for a few lanes."""
_GATE_GROUP = 128
"""Numbers that one fp8 scale of a gate's results is for."""
_LEAST_FACTOR = 2.0**-4
"""Where what is multiplied with the chosen factor is less, the factor is drawn: it would be too large."""
_TOP = 4.6
"""The largest result of a group: MXFP4's scale of its block is 1."""
_CLEARANCE = 2.0**-12
"""How far beside a middle a result is aimed at; what f32 loses is less, a bfloat16's own step more."""

Compute = Callable[[Array], Array]


def derive_brink(spec: OpSpec, cell: str) -> Iterator[Case]:
    """brink-halves and brink-interleaved of gates, brink of norms."""
    kind = next((kind for kind in ("_fp8", "_mxfp4") if spec.name.endswith(kind)), "")
    op = spec.name.removesuffix(kind)
    if not kind or not op.endswith(("_and_mul", "rms_norm")):
        return
    if op.endswith("rms_norm"):
        yield _make_norm(spec, cell, op)
        return
    for order in ("halves", "interleaved"):
        yield _make_gate(spec, cell, op, order)


def _make_norm(spec: OpSpec, cell: str, op: str) -> Case:
    """One row, whose every column has a weight of its own."""
    dtype, generator = spec.cell_dtypes(cell)["T"], make_generator(spec.name, cell, "brink")
    arrays = {name.name: draw(generator, (1, _COLUMNS), dtype) for name in spec.inputs if name.name != "weight"}

    def compute(weight: Array) -> Array:
        return _compute(op, {**arrays, "weight": weight[0].astype(numpy_dtype(dtype))}, {})

    weight = _choose(compute, (1, _COLUMNS), generator, spec, cell)[0]
    return _make_case(arrays | {"weight": np.ascontiguousarray(weight)}, {}, "brink", terms=_COLUMNS)


def _make_gate(spec: OpSpec, cell: str, op: str, order: str) -> Case:
    dtype, generator = spec.cell_dtypes(cell)["T"], make_generator(spec.name, cell, "brink", order)
    gate = draw(generator, (2, _COLUMNS), dtype)
    scalars = {"interleaved": order == "interleaved", "limit": 0.0}

    def lay_out(up: Array) -> Array:
        own = up.astype(numpy_dtype(dtype))
        if order == "halves":
            return np.concatenate([gate, own], axis=1)
        return np.ascontiguousarray(np.stack([gate, own], axis=-1).reshape(2, -1))

    up = _choose(lambda up: _compute(op, {"x": lay_out(up)}, scalars), gate.shape, generator, spec, cell)
    return _make_case({"x": lay_out(up)}, scalars, f"brink-{order}")


def _make_case(arrays: Mapping[str, Array], scalars: Mapping[str, Any], name: str, terms: int = 1) -> Case:
    return Case(name=name, arrays=dict(arrays), scalars=dict(scalars), match="codes", terms=terms)


def _compute(op: str, arrays: Mapping[str, Array], scalars: Mapping[str, Any]) -> Array:
    """What the op that does not round gives, in float64."""
    from rockiln_kernels.table import read_table

    references = import_module(f"rockiln_kernels.references.{read_origins()[op]}").REFERENCES
    whole = {scalar.name: scalar.default for scalar in read_table()[op].scalars} | dict(scalars)
    result: Array = references[op](arrays, whole)["y"]
    return result


def _choose(compute: Compute, shape: tuple[int, int], generator: np.random.Generator, spec: OpSpec, cell: str) -> Array:
    """Factors whose results, which they are proportional to but for an offset, lie beside middles."""
    dtypes = spec.cell_dtypes(cell)
    without, one = compute(np.zeros(shape)), compute(np.ones(shape))
    steep = one - without
    is_free = np.abs(steep) < _LEAST_FACTOR

    def solve(wanted: Array) -> Array:
        own = (wanted - without) / np.where(is_free, 1.0, steep)
        return np.where(is_free, 0.5, own).astype(numpy_dtype(dtypes["T"]))

    groups = _list_groups(shape, spec)
    peaks = np.zeros(shape, bool)
    for number in range(groups.max() + 1):
        able = np.argwhere((groups == number) & ~is_free)
        peaks[tuple(able[number % len(able)])] = True
    largest = compute(solve(np.where(peaks, _TOP, 0.0)))
    form = dtypes.get("Q", "e2m1")
    middles = _draw_middles(generator, shape, form, "Q" in dtypes)
    scales = np.ones(shape)
    if "Q" in dtypes:
        of_group = np.array([np.abs(largest[(groups == number) & peaks]).max() for number in range(groups.max() + 1)])
        scales = scale_fp8(of_group, form).astype(np.float64)[groups]
    return solve(np.where(peaks, _TOP, middles * scales))


def _list_groups(shape: tuple[int, int], spec: OpSpec) -> Array:
    """[M, N]: which scale each number has."""
    size = MX_BLOCK if spec.name.endswith("_mxfp4") else shape[1] if "rms_norm" in spec.name else _GATE_GROUP
    own: Array = np.arange(shape[1]) // size
    return np.arange(shape[0])[:, None] * (own.max() + 1) + own


def _draw_middles(generator: np.random.Generator, shape: tuple[int, int], form: str, is_fp8: bool) -> Array:
    """Signed, and beside the middles of neighbours of all but the largest codes; fp8's are of normal numbers."""
    values = list_magnitudes(form)
    between = (values[1:] + values[:-1]) / 2.0
    able = between[(between < values[-1] / 2.0) & (between > values[-1] / 2.0**8)] if is_fp8 else between[:-1]
    chosen = able[generator.integers(len(able), size=shape)]
    sides = 1.0 + _CLEARANCE * generator.choice([-1.0, 1.0], size=shape)
    result: Array = chosen * sides * generator.choice([-1.0, 1.0], size=shape)
    return result
