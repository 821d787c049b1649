"""The op table hangs together: every spec has its reference, variants, tiles and wishes, and none is left over."""

from __future__ import annotations

from importlib import import_module

import pytest

from rockiln_kernels.archs import AMD_ARCHS, Arch
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.expressions import read_names
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import make_arch_variants, read_families, read_origins, read_table
from rockiln_kernels.variant import Variant
from rockiln_kernels.wanted_table import fits_arch, read_wishes

OPS = tuple(read_table().values())


@pytest.mark.parametrize("spec", OPS, ids=lambda spec: spec.name)
def test_every_op_has_a_reference(spec: OpSpec) -> None:
    family = import_module(f"rockiln_kernels.references.{read_origins()[spec.name]}")
    assert callable(family.REFERENCES[spec.name])


@pytest.mark.parametrize("family", read_families())
def test_references_and_specs_name_the_same_ops(family: str) -> None:
    references = import_module(f"rockiln_kernels.references.{family}").REFERENCES
    assert set(references) == {op for op, origin in read_origins().items() if origin == family}


@pytest.mark.parametrize("spec", OPS, ids=lambda spec: spec.name)
def test_gradients_name_arrays_that_exist(spec: OpSpec) -> None:
    if spec.gradient is None:
        return
    backward = read_table()[spec.gradient.op]
    assert {name for name, _ in spec.gradient.inputs} == {array.name for array in backward.inputs}
    assert {name for name, _ in spec.gradient.outputs} == {array.name for array in backward.outputs}
    own = {array.name for array in spec.arrays} | {f"grad {array.name}" for array in spec.outputs}
    assert {source for _, source in spec.gradient.inputs} <= own
    assert {source for _, source in spec.gradient.outputs} <= {array.name for array in spec.inputs}


@pytest.mark.parametrize("spec", OPS, ids=lambda spec: spec.name)
def test_array_dtypes_are_known(spec: OpSpec) -> None:
    axes = dict(spec.dtype_axes)
    assert all(array.dtype in DTYPES or array.dtype in axes for array in spec.arrays)
    assert all(member in DTYPES for members in axes.values() for member in members)


@pytest.mark.parametrize("arch", AMD_ARCHS, ids=lambda arch: arch.name)
def test_every_wish_has_a_variant_or_a_reason(arch: Arch) -> None:
    made = {(variant.op, variant.cell) for variant in make_arch_variants(arch)}
    wishes = [wish for wish in read_wishes() if wish.arch == arch.name]
    assert {wish.op for wish in wishes} == set(read_table()), "an op that nobody wishes for"
    assert not [wish for wish in wishes if not wish.gap and (wish.op, wish.cell) not in made]


def _formula_names(variant: Variant) -> set[str]:
    formulas = [requirement.formula for requirement in variant.requires] + [space.size for space in variant.workspaces]
    for launch in variant.launches:
        formulas += [*launch.grid, *(arg.value for arg in launch.kernel.args if not arg.type.startswith("*"))]
    return {name for formula in formulas for name in read_names(formula)}


@pytest.mark.parametrize("arch", AMD_ARCHS, ids=lambda arch: arch.name)
def test_formulas_use_names_that_a_call_binds(arch: Arch) -> None:
    for variant in make_arch_variants(arch):
        spec = read_table()[variant.op]
        assert fits_arch(spec, variant.cell, arch), variant.key
        known = {scalar.name for scalar in spec.scalars} | {f"has_{array.name}" for array in spec.inputs}
        known |= {f"{array.name}_stride" for array in spec.inputs} | {array.name for array in spec.arrays}
        known |= {dim for array in spec.inputs for dim in array.dims if dim.isidentifier()}
        constants = {name for launch in variant.launches for name, _ in launch.kernel.constants}
        assert _formula_names(variant) <= known | constants, variant.key


@pytest.mark.parametrize("arch", AMD_ARCHS, ids=lambda arch: arch.name)
def test_pointers_are_arrays_or_workspaces(arch: Arch) -> None:
    for variant in make_arch_variants(arch):
        spec = read_table()[variant.op]
        places = {array.name for array in spec.arrays} | {space.name for space in variant.workspaces}
        pointers = {arg.value for launch in variant.launches for arg in launch.kernel.args if arg.type[0] == "*"}
        assert pointers <= places, variant.key
