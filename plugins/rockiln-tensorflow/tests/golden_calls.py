"""A golden case → its call of rockiln_tensorflow.ops, on tensors of the case or on given ones."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from harness.framework_calls import list_words
from rockiln_kernels.golden import GoldenCase
from rockiln_tensorflow.forms import make_form
from rockiln_tensorflow.ops import call_op

Call = Callable[..., tuple[tf.Tensor, ...]]


def make_call(case: GoldenCase) -> tuple[Call, tuple[tf.Tensor, ...]]:
    """The op as a function of the tensors that the case has, and those."""
    form = make_form(case.op)
    names = [array.name for array in form.spec.inputs if array.name in case.inputs]
    words = list_words(case)

    def call(*tensors: tf.Tensor) -> tuple[tf.Tensor, ...]:
        given = dict(zip(names, tensors, strict=True))
        outputs = call_op(case.op, *(given.get(array.name) for array in form.spec.inputs), **words)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    return call, tuple(tf.constant(case.inputs[name]) for name in names)


def call_case(case: GoldenCase) -> tuple[tf.Tensor, ...]:
    """Its outputs, eagerly."""
    call, tensors = make_call(case)
    return call(*tensors)
