"""A call → who runs it on a GPU, and why: the plan, without a GPU and without running anything."""

from __future__ import annotations

from typing import Any

import jax

from rockiln_jax.calls import make_call
from rockiln_jax.ops import bind_words, make_array
from rockiln_kernels.dispatch import Plan, install


def explain(op: str, *arrays: Any, arch: str, **words: Any) -> Plan:
    """The plan of `rockiln_jax.ops.OP(*arrays, **words)` on a GPU of `arch`: provider, kernel, reason, rejected.

    Arrays may be jax.ShapeDtypeStruct: no values are needed. Raises KeyError for an op that is not
    there, CallError for what is no call of the op.
    """
    form, params, given = bind_words(op, arrays, words)
    shapes = [
        one if isinstance(one, jax.ShapeDtypeStruct) else make_array(op, name, one)
        for name, one in zip(form.name_given(params.present), given, strict=True)
    ]
    return install().planner.make_plan(make_call(form, params, shapes), arch, strict=False)
