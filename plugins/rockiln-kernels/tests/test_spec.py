"""A call against an OpSpec: what fits, and the sentence for what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rockiln_kernels.call import Accepted, ArrayValue, Call, Rejected, check_call
from rockiln_kernels.table import read_table

SPEC = read_table()["rms_norm"]


def _array(*shape: int, dtype: str = "bf16", strides: tuple[int, ...] = ()) -> ArrayValue:
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return ArrayValue(shape=shape, strides=strides or tuple(reversed(steps)), dtype=dtype)


CALL = Call(op="rms_norm", arrays={"x": _array(4, 64), "weight": _array(64)})


def _change(**arrays: ArrayValue) -> Call:
    return replace(CALL, arrays={**CALL.arrays, **arrays})


def test_a_fitting_call_binds_dims_strides_and_defaults() -> None:
    accepted = check_call(SPEC, CALL)
    assert isinstance(accepted, Accepted)
    assert accepted.cell == "bf16"
    assert dict(accepted.names) == {"eps": 1e-6, "weight_offset": 0.0, "M": 4, "N": 64, "x_stride": 64}


def test_leading_dims_fold_into_the_first() -> None:
    accepted = check_call(SPEC, _change(x=_array(2, 3, 64)))
    assert isinstance(accepted, Accepted)
    assert accepted.names["M"] == 6


def test_one_row_may_come_without_its_dim() -> None:
    accepted = check_call(SPEC, _change(x=_array(64)))
    assert isinstance(accepted, Accepted)
    assert (accepted.names["M"], accepted.names["x_stride"]) == (1, 64)


@pytest.mark.parametrize(
    "x",
    [
        _array(2, 0, 64, strides=(64, 64, 1)),
        _array(0, 3, 64, strides=(192, 64, 1)),
        _array(0, 64, strides=(1, 0)),
    ],
)
def test_an_empty_array_is_contiguous_whatever_its_strides_are(x: ArrayValue) -> None:
    accepted = check_call(SPEC, _change(x=x))
    assert isinstance(accepted, Accepted)
    assert accepted.names["M"] == 0


@pytest.mark.parametrize(
    ("op", "name", "value", "kind", "reason"),
    [
        ("rms_norm", "eps", float("nan"), "value", "eps is NaN"),
        ("rms_norm", "eps", "x", "type", "eps is 'x', no number"),
        ("rms_norm", "eps", [1], "type", "eps is [1], no number"),
        ("rms_norm", "eps", 1j, "type", "eps is 1j, no number"),
        ("topk_softmax", "top", 1.5, "type", "top is 1.5, not a whole number"),
        ("topk_softmax", "top", float("inf"), "type", "top is inf, not a whole number"),
        ("topk_softmax", "top", 10**400, "value", "top is not within 1 and the number of experts"),
        ("topk_softmax", "renormalise", 2, "type", "renormalise is 2, not bool"),
    ],
)
def test_a_scalar_that_is_no_number_of_its_kind_is_refused(
    op: str, name: str, value: Any, kind: str, reason: str
) -> None:
    call = CALL if op == "rms_norm" else Call(op=op, arrays={"logits": _array(4, 8, dtype="f32")}, scalars={"top": 2})
    assert isinstance(check_call(read_table()[op], call), Accepted)
    rejected = check_call(read_table()[op], replace(call, scalars={**call.scalars, name: value}))
    assert rejected == Rejected(reason=f"{op}: {reason}", kind=kind)


def test_an_array_has_a_stride_a_dim_and_no_negative_size() -> None:
    short = check_call(SPEC, _change(x=_array(4, 64, strides=(64,))))
    assert short == Rejected(reason="rms_norm: x has 2 dims and 1 strides", kind="type")
    negative = check_call(SPEC, _change(x=_array(-4, -64), weight=_array(-64)))
    assert negative == Rejected(reason="rms_norm: x has a negative size: [-4, -64]")


def test_rows_may_be_strided() -> None:
    accepted = check_call(SPEC, _change(x=_array(4, 64, strides=(96, 1))))
    assert isinstance(accepted, Accepted)
    assert accepted.names["x_stride"] == 96


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (_change(x=_array(4, 32)), "weight has N = 64, expected 32"),
        (_change(x=_array(4, 64, dtype="f16")), "weight is bf16, other arrays are f16"),
        (_change(x=_array(4, 64, dtype="u8")), "x is u8, not one of f32, f16, bf16"),
        (_change(x=_array(4, 64, strides=(1, 4))), "x is not contiguous within a row"),
        (_change(x=_array(2, 3, 64, strides=(400, 64, 1))), "leading dims are not contiguous"),
        (_change(x=_array(4, 0), weight=_array(0)), "a row has no values"),
        (_change(bias=_array(64)), "no input is called 'bias'"),
        (replace(CALL, arrays={"x": CALL.arrays["x"]}), "weight is missing"),
        (replace(CALL, scalars={"epsilon": 1.0}), "no scalar is called 'epsilon'"),
    ],
)
def test_a_misfit_is_told_in_words(call: Call, reason: str) -> None:
    rejected = check_call(SPEC, call)
    assert isinstance(rejected, Rejected)
    assert reason in rejected.reason


def test_an_output_dtype_that_no_input_decides_is_asked_for() -> None:
    spec = read_table()["quant_fp8_token"]
    call = Call(op=spec.name, arrays={"x": _array(2, 64)})
    missing = check_call(spec, call)
    assert isinstance(missing, Rejected)
    assert "the dtype Q is missing" in missing.reason
    accepted = check_call(spec, replace(call, dtypes={"Q": "e4m3"}))
    assert isinstance(accepted, Accepted)
    assert accepted.cell == "bf16-e4m3"


def test_a_formula_dim_is_known_from_a_later_array() -> None:
    spec = read_table()["dequant_mxfp4"]
    arrays = {"q": _array(2, 32, dtype="u8"), "q_scale": _array(2, 2, dtype="u8")}
    accepted = check_call(spec, Call(op=spec.name, arrays=arrays, dtypes={"T": "bf16"}))
    assert isinstance(accepted, Accepted)
    assert accepted.names["G"] == 2
