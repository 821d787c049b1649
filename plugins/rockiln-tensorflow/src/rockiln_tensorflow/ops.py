"""An op's name → a function, made of its spec when first asked for: ops.rms_norm(x, weight, eps=1e-5).

Tensors come in the spec's order, scalars by keyword; scalars are Python numbers, since they decide the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import tensorflow as tf

from rockiln_kernels.table import read_table
from rockiln_tensorflow.calls import OpParams, check_tensors
from rockiln_tensorflow.dtypes import name_dtype
from rockiln_tensorflow.forms import OpForm, describe_op, make_form, name_symbol
from rockiln_tensorflow.routing import run_call


def call_op(op: str, *tensors: Any, **words: Any) -> Any:
    """An op by name: its output, or a tuple of them. Raises TypeError and ValueError, with the rule that is broken."""
    form, params, given = bind_words(op, tensors, words)
    there = [make_tensor(op, name, value) for name, value in zip(form.name_given(params.present), given, strict=True)]
    check_tensors(form, params, there)
    outputs = run_call(form, params, there)
    return outputs if len(outputs) > 1 else outputs[0]


def make_tensor(op: str, name: str, value: Any) -> Any:
    """What TensorFlow makes of an argument. Raises TypeError for what is no tensor, for ragged and sparse ones, too."""
    try:
        return tf.convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        kind = type(value).__name__
        raise TypeError(f"{op}: {name} is a {kind}, of which TensorFlow makes no tensor: {error}") from error


def bind_words(op: str, tensors: tuple[Any, ...], words: dict[str, Any]) -> tuple[OpForm, OpParams, list[Any]]:
    """The op's form, what its call carries, and the tensors that are there. Raises TypeError."""
    form = make_form(op)
    values = form.bind_arguments(tensors, words)
    params = OpParams(
        present=tuple(values[array.name] is not None for array in form.spec.inputs),
        scalars=form.bind_scalars(values, name_symbol),
        dtypes=_name_dtypes(form, values),
    )
    return form, params, [values[array.name] for array in form.spec.inputs if values[array.name] is not None]


def _name_dtypes(form: OpForm, values: dict[str, Any]) -> tuple[str, ...]:
    """Of each axis that no input decides; an `out_dtype` may be a dtype of TensorFlow's or rockiln's name for one."""
    names, axes = form.name_dtypes(values, name_dtype), dict(form.spec.dtype_axes)
    for axis, name in zip(form.open_axes, names, strict=True):
        if name not in axes[axis]:
            raise TypeError(f"{form.spec.name}: {axis} = {name} is not one of {', '.join(axes[axis])}")
    return names


@lru_cache(maxsize=256)
def make_function(op: str) -> Callable[..., Any]:
    """The function of an op, with its signature and documentation."""
    form = make_form(op)

    def function(*tensors: Any, **words: Any) -> Any:
        return call_op(op, *tensors, **words)

    function.__name__ = function.__qualname__ = op
    function.__module__ = __name__
    function.__doc__ = describe_op(form)
    function.__signature__ = form.signature  # type: ignore[attr-defined]  # what inspect looks for
    return tf.autograph.experimental.do_not_convert(function)  # type: ignore[no-any-return]


def __getattr__(name: str) -> Any:
    """The function of an op of the table."""
    if name in read_table():
        return make_function(name)
    raise AttributeError(f"module {__name__} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*read_table(), "call_op"]
