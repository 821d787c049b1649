"""An OpSpec → OpForm: how an op is called in Python. Pure; rockiln-jax and rockiln-tensorflow share it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rockiln_kernels.expressions import Value
from rockiln_kernels.spec import ArraySpec, OpSpec, ScalarSpec
from rockiln_kernels.table import read_table

PACKED_FORMATS = frozenset({"e2m3", "e3m2"})
"""Elements that frameworks' arrays do not hold: they are packed in uint8, and `fp6_format` says which they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpForm:
    """One op in a framework: arrays by position in the spec's order, then all else by keyword."""

    spec: OpSpec
    dtype_axis: str
    """The axis that `out_dtype` names, or "": the inputs decide all."""
    format_axis: str
    """The axis that `fp6_format` names, or ""."""
    fixed: tuple[tuple[str, str], ...]
    """Axes that no input decides and that have one member: axis, dtype."""

    @property
    def open_axes(self) -> tuple[str, ...]:
        """Every axis that no input decides, in the spec's order."""
        asked = {self.dtype_axis, self.format_axis, *(axis for axis, _ in self.fixed)}
        return tuple(axis for axis, _ in self.spec.dtype_axes if axis in asked)

    @property
    def signature(self) -> inspect.Signature:
        """What Python's help shows."""
        return _make_signature(self)

    def bind_arguments(self, arrays: tuple[Any, ...], words: Mapping[str, Any]) -> dict[str, Any]:
        """Every argument by name, defaults filled in. Raises TypeError, with the signature, if they do not fit it."""
        try:
            bound = self.signature.bind(*arrays, **words)
        except TypeError as error:
            raise TypeError(f"{self.spec.name}: {error}; it takes {self.signature}") from None
        bound.apply_defaults()
        return dict(bound.arguments)

    def bind_scalars(
        self, words: Mapping[str, Any], name_symbol: Callable[[Any], str] = lambda _: ""
    ) -> tuple[Value, ...]:
        """Every scalar in the spec's order, as a number of its kind. Raises TypeError for one that is no number.

        `name_symbol` says what the framework calls a value that is not known before the program runs, "" of others.
        """
        return tuple(_convert(self.spec.name, item, words[item.name], name_symbol) for item in self.spec.scalars)

    def name_given(self, present: Sequence[bool]) -> list[str]:
        """The names of the inputs that are there; `present`: of each input."""
        return [array.name for array, is_there in zip(self.spec.inputs, present, strict=True) if is_there]

    def name_dtypes(self, words: Mapping[str, Any], name_dtype: Callable[[Any], str]) -> tuple[str, ...]:
        """Of each open axis, unchecked; `out_dtype` may be rockiln's name, or what `name_dtype` makes one of."""
        names = dict(self.fixed)
        if self.dtype_axis:
            asked, members = words["out_dtype"], dict(self.spec.dtype_axes)[self.dtype_axis]
            names[self.dtype_axis] = asked if asked in members else name_dtype(asked)
        if self.format_axis:
            names[self.format_axis] = words["fp6_format"]
        return tuple(names[axis] for axis in self.open_axes)


@lru_cache(maxsize=256)
def _make_signature(form: OpForm) -> inspect.Signature:
    """Once: a call outside of jax.jit takes a fifth of its time for this."""
    return inspect.Signature([*_list_arrays(form.spec), *_list_words(form)])


def _list_arrays(spec: OpSpec) -> list[inspect.Parameter]:
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    return [inspect.Parameter(array.name, kind, default=None if array.optional else empty) for array in spec.inputs]


def _list_words(form: OpForm) -> list[inspect.Parameter]:
    kind, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    words = [
        inspect.Parameter(scalar.name, kind, default=empty if scalar.default is None else scalar.default)
        for scalar in form.spec.scalars
    ]
    words += [inspect.Parameter("out_dtype", kind)] if form.dtype_axis else []
    return words + ([inspect.Parameter("fp6_format", kind, default="e2m3")] if form.format_axis else [])


def _convert(op: str, scalar: ScalarSpec, value: Any, name_symbol: Callable[[Any], str]) -> Value:
    name, kind = scalar.name, scalar.kind
    wanted = {"f32": float, "i32": int, "bool": bool}[kind]
    if symbol := name_symbol(value):
        raise TypeError(f"{op}: {name} is {symbol}; it decides the kernel, and must be a Python number")
    try:
        number: Value = wanted(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{op}: {name} is {value!r}, not {kind}") from error
    if kind == "i32" and number != value:
        raise TypeError(f"{op}: {name} is {value!r}, not a whole number")
    if kind == "bool" and value not in (0, 1):
        raise TypeError(f"{op}: {name} is {value!r}, not bool")
    return number


@lru_cache(maxsize=256)
def make_form(op: str) -> OpForm:
    """The form of an op. Raises KeyError, with names that are like it, if the table lacks it."""
    if op not in read_table():
        from difflib import get_close_matches  # imported for the message alone

        near = ", ".join(get_close_matches(op, read_table(), n=3))
        raise KeyError(f"there is no op called {op!r}" + (f"; there is {near}" if near else "; dir(ops) names them"))
    spec = read_table()[op]
    shown = {array.dtype for array in spec.inputs}
    asked = [(axis, members) for axis, members in spec.dtype_axes if axis not in shown]
    named = [axis for axis, members in asked if len(members) > 1 and not PACKED_FORMATS & set(members)]
    packed = [axis for axis, members in asked if PACKED_FORMATS & set(members)]
    fixed = tuple((axis, members[0]) for axis, members in asked if len(members) == 1)
    return OpForm(spec=spec, dtype_axis="".join(named), format_axis="".join(packed), fixed=fixed)


def describe_op(form: OpForm) -> str:
    """The docstring: formula, arrays with their dims and dtypes, what is returned."""
    spec = form.spec
    inputs, outputs = ("; ".join(map(describe_array, arrays)) for arrays in (spec.inputs, spec.outputs))
    axes = "; ".join(f"{axis} is {' or '.join(members)}" for axis, members in spec.dtype_axes)
    return (
        f"{spec.summary}\n\nIn: {inputs}. Out: {outputs}. {axes}.\n"
        "Raises TypeError for dtypes and ValueError for shapes and numbers, with the rule that is broken."
    )


def describe_array(array: ArraySpec) -> str:
    """Name, dtype and dims: "x T[..., M, N]"."""
    shape = ", ".join(("...", *array.dims) if array.folds_leading else array.dims)
    return f"{array.name} {array.dtype}[{shape}]"
