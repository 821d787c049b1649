"""A call → who runs it on a GPU, and why: the plan, without a GPU and without running anything."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rockiln_kernels.dispatch import Plan, install
from rockiln_tensorflow.calls import is_known, make_call
from rockiln_tensorflow.ops import bind_words, make_tensor


def explain(op: str, *tensors: Any, arch: str, **words: Any) -> Plan:
    """The plan of `rockiln_tensorflow.ops.OP(*tensors, **words)` on a GPU of `arch`: provider, kernel, reasons.

    Tensors may be tf.TensorSpec: no values are needed, but every dim. Raises KeyError for an op
    that is not there, CallError for what is no call of the op, ValueError for a dim that is not known.
    """
    form, params, given = bind_words(op, tensors, words)
    specs = [
        tensor if isinstance(tensor, tf.TensorSpec) else make_tensor(op, name, tensor)
        for name, tensor in zip(form.name_given(params.present), given, strict=True)
    ]
    if not is_known(specs):
        raise ValueError(f"{op}: a dim is not known; who runs a call depends on all of them")
    return install().planner.make_plan(make_call(form, params, specs), arch, strict=False)
