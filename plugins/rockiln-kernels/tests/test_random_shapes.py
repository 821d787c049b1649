"""2,000 random calls a family through check and selection: each is bound to a variant, or refused with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from harness.case import make_generator
from random_calls.planned import plan_manifest
from rockiln_kernels.archs import AMD_ARCHS, Arch
from rockiln_kernels.bind import Bound, bind_call, pack_kernarg
from rockiln_kernels.call import Accepted, ArrayValue, Call, check_call
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.expressions import Value, evaluate_expression, read_names
from rockiln_kernels.spec import ArraySpec, OpSpec
from rockiln_kernels.table import read_families, read_origins, read_table
from rockiln_kernels.wanted_table import fits_arch

COUNT = 2000
SIZES = (
    0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 96, 100, 128, 192, 256, 333, 512, 576, 1000,
    2880, 4096, 7168, 8192, 16384, 50000,
)  # fmt: skip
HUGE_SIZES = (2**20 + 1, 2**24, 2**31, 2**33)
"""Rows of tensors that fit into 192 GB, and what no device's grid takes; one size of thirty is one of these."""

Sizes = Mapping[str, tuple[int, ...]]
USUAL_SIZES: tuple[Sizes, ...] = (
    *({"D": (head,), "DV": (head,), "HK": (1, 2, 8), "HQ": (8, 32, 64), "W": (576,)} for head in (64, 80, 128)),
    {"D": (192,), "DV": (128,), "HK": (1, 2, 8), "HQ": (8, 32, 64), "W": (576,)},
)
"""Kernels are compiled for these heads alone: every second call has some of them, or hardly any would be bound."""


def _draw_array(
    array: ArraySpec, names: dict[str, Value], dtype: str, usual: Sizes, generator: np.random.Generator
) -> ArrayValue:
    for dim in array.dims:
        for name in read_names(dim) - names.keys():
            sizes = HUGE_SIZES if generator.random() < 1 / 30 else usual.get(name, SIZES)
            names[name] = int(generator.choice(sizes))
    shape = tuple(max(0, int(evaluate_expression(dim, names))) for dim in array.dims)
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    strides.reverse()
    if array.layout == "rows" and len(shape) > 1:
        strides[0] += int(generator.choice((0, 0, 1, 16)))
    alignment = int(generator.choice((DTYPES[dtype].size_bytes, 16, 256)))
    return ArrayValue(shape=shape, strides=tuple(strides), dtype=dtype, alignment=alignment)


def draw_call(spec: OpSpec, cell: str, generator: np.random.Generator) -> Call:
    """Random dims, strides, alignments and scalars; optional arrays are there half of the time."""
    dtypes = spec.cell_dtypes(cell)
    names: dict[str, Value] = {}
    usual = USUAL_SIZES[generator.integers(len(USUAL_SIZES))] if generator.random() < 0.5 else {}
    arrays = {
        array.name: _draw_array(array, names, dtypes.get(array.dtype, array.dtype), usual, generator)
        for array in spec.inputs
        if not array.optional or generator.random() < 0.5
    }
    scalars = {scalar.name: _draw_scalar(scalar.kind, generator) for scalar in spec.scalars if generator.random() < 0.5}
    scalars |= {scalar.name: 1 for scalar in spec.scalars if scalar.default is None}
    return Call(op=spec.name, arrays=arrays, scalars=scalars, dtypes=dtypes)


def _draw_scalar(kind: str, generator: np.random.Generator) -> Value:
    return float(generator.random()) if kind == "f32" else int(generator.integers(0, 2 if kind == "bool" else 9))


def _list_cells(family: str) -> Iterator[tuple[OpSpec, str, Arch]]:
    for spec in (spec for name, spec in read_table().items() if read_origins()[name] == family):
        yield from ((spec, cell, arch) for arch in AMD_ARCHS for cell in spec.cells if fits_arch(spec, cell, arch))


@pytest.mark.parametrize("family", read_families())
def test_random_calls_are_bound_or_refused_with_a_reason(family: str) -> None:
    generator, cells = make_generator(family), list(_list_cells(family))
    bound_count = 0
    for number in range(COUNT):
        spec, cell, arch = cells[number % len(cells)]
        call = draw_call(spec, cell, generator)
        checked = check_call(spec, call)
        if isinstance(checked, Accepted):
            alignments = {name: array.alignment for name, array in call.arrays.items()}
            answer = bind_call(plan_manifest(arch.name, family), spec.name, checked, alignments)
            bound_count += isinstance(answer, Bound)
            _check_answer(answer)
        else:
            assert checked.reason.startswith(f"{spec.name}: ")
    assert bound_count >= COUNT // 50, "hardly any call was bound: the shapes are not random, but wrong"


def _check_answer(answer: object) -> None:
    if not isinstance(answer, Bound):
        assert getattr(answer, "reason", "")
        return
    assert all(item.reason for item in answer.passed_over)
    for launch in answer.launches:
        assert min(launch.grid) >= 0
        assert launch.grid[0] * launch.kernel.threads < 2**32
        assert max(launch.grid[1:]) < 2**16
        pointers = {arg.value: 4096 for arg in launch.kernel.args if arg.kind == "pointer"}
        assert len(pack_kernarg(launch, pointers)) == launch.kernel.kernarg_bytes
    assert all(count >= 0 for _, count in answer.workspaces.values())
