"""How ops are written in a framework: what a signature holds, what is no argument, and which dtypes are named."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from rockiln_kernels.forms import describe_op, make_form
from rockiln_kernels.table import read_table

LOADED = """
import sys
from rockiln_kernels import forms
print(sorted({"numpy", "torch", "triton", "jax", "tensorflow", "ctypes", "hipcompat"} & sys.modules.keys()))
"""


@pytest.mark.parametrize("op", read_table())
def test_arrays_come_first_and_every_open_axis_has_a_name(op: str) -> None:
    form = make_form(op)
    parameters = form.signature.parameters
    arrays = [name for name, item in parameters.items() if item.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert arrays == [array.name for array in form.spec.inputs]
    words = [item.name for item in form.spec.scalars]
    words += [name for name, axis in (("out_dtype", form.dtype_axis), ("fp6_format", form.format_axis)) if axis]
    assert list(parameters)[len(arrays) :] == words
    shown = {array.dtype for array in form.spec.inputs}
    assert form.open_axes == tuple(axis for axis, _ in form.spec.dtype_axes if axis not in shown)
    assert form.spec.summary in describe_op(form)


def test_an_op_that_is_not_there_is_told_with_those_like_it() -> None:
    with pytest.raises(KeyError, match=r"no op called 'rms_nrm'; there is rms_norm"):
        make_form("rms_nrm")
    with pytest.raises(KeyError, match=r"no op called '\?\?'; dir\(ops\) names them"):
        make_form("??")


def test_arguments_are_bound_by_name_with_defaults() -> None:
    form = make_form("rms_norm")
    assert form.bind_arguments(("x", "w"), {"eps": 1}) == {"x": "x", "weight": "w", "eps": 1, "weight_offset": 0.0}
    with pytest.raises(TypeError, match=r"rms_norm: missing a required argument: 'weight'; it takes \(x, weight"):
        form.bind_arguments(("x",), {})


def test_scalars_are_numbers_of_their_kind() -> None:
    form = make_form("topk_softmax")
    words = {scalar.name: scalar.default for scalar in form.spec.scalars} | {"top": 2.0}
    scalars = dict(zip((scalar.name for scalar in form.spec.scalars), form.bind_scalars(words), strict=True))
    assert type(scalars["top"]) is int
    assert scalars["top"] == 2
    with pytest.raises(TypeError, match=r"topk_softmax: top is 1\.5, not a whole number"):
        form.bind_scalars(words | {"top": 1.5})
    with pytest.raises(TypeError, match="topk_softmax: top is 'two', not i32"):
        form.bind_scalars(words | {"top": "two"})
    with pytest.raises(TypeError, match="topk_softmax: renormalise is 'no', not bool"):
        form.bind_scalars(words | {"renormalise": "no"})
    text = "topk_softmax: top is a symbol; it decides the kernel, and must be a Python number"
    with pytest.raises(TypeError, match=text):
        form.bind_scalars(words, lambda value: "a symbol" if value == 2 else "")


def test_dtypes_are_those_of_open_axes_in_the_specs_order() -> None:
    assert make_form("rms_norm").name_dtypes({}, str) == ()
    assert make_form("gemm_mxfp4").name_dtypes({}, str) == ("bf16",)
    form = make_form("dequant_mxfp6")
    assert form.open_axes == ("T", "E")
    assert form.name_dtypes({"out_dtype": "f16", "fp6_format": "e3m2"}, str.upper) == ("f16", "e3m2")
    assert form.name_dtypes({"out_dtype": "half", "fp6_format": "e2m3"}, {"half": "f16"}.get) == ("f16", "e2m3")  # type: ignore[arg-type]


def test_importing_it_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
