"""An op's spec and the shapes of a call → along which dims devices can share its work. Pure, and imports no JAX.

A factor is what may be split: `count` equal parts of it, each of which an op computes by itself, from its part of every
array that has the factor. An output without a factor that is split is the sum of what the parts give.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rockiln_kernels.spec import ArraySpec, OpSpec

Shape = tuple[int, ...]
_QUOTIENT = re.compile(r"//\s*(\d+)|cdiv\([^,]*,\s*(\d+)\)")
_ALIASES = {"SA": "M", "SB": "N", "KH": "K", "HK": "H", "HQ": "H", "TQ": "T", "TK": "T", "B1": "T"}
"""Dims of a spec that are one factor: scales one a row, bytes of pairs, groups of heads, packed sequences."""
ROWS = ("M", "L")
"""Factors that stand for all leading dims of arrays that fold them."""
_RULES = {
    "attention_prefill": ("T", "H"),
    "fused_moe": ("E", "M"),
    "gemm": ("M", "N", "K"),
    "stream_k_gemm": ("M", "N", "K"),
    "mla_decode": ("B", "H"),
    "paged_decode": ("B", "H"),
    "rope": ("L", "H"),
    "quant_fp8_block": ("M", "N"),
    "quant_fp8_group": ("M", "N"),
    "quant_fp8_static": ("M", "N"),
    "quant_fp8_token": ("M",),
    "quant_fp8_tensor": (),
    "quant_mx": ("M", "N"),
    "dequant_mx": ("M", "G"),
    "moe_align": (),
    "": ("M",),
}
"""Start of an op's name, the longest that fits → its factors, those that matter most first; "": all other ops, whose
rows are independent of each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dim:
    """A dim of an array: `factor` or "", in `count` equal parts."""

    size: int
    factor: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Dims of the arrays that are there and of the outputs, and the factors, those that matter most first."""

    inputs: tuple[tuple[Dim, ...], ...]
    outputs: tuple[tuple[Dim, ...], ...]
    factors: tuple[str, ...]


def find_rule(op: str, *, interleaved: bool = False) -> tuple[str, ...]:
    """Names of the factors of an op. Gate and up in halves keep N whole."""
    rule = _RULES[max((start for start in _RULES if op.startswith(start)), key=len)]
    return tuple(name for name in rule if name != "N" or interleaved or not op.endswith("_swiglu"))


def lay_out(
    spec: OpSpec, rule: Sequence[str], names: Mapping[str, Any], inputs: Sequence[tuple[ArraySpec, Shape]],
    outputs: Sequence[Shape], copies: int,
) -> Layout:  # fmt: skip
    """The layout of a call. `names`: values of the spec's dims; `copies`: equal parts of packed sequences."""
    arrays = [*inputs, *zip(spec.outputs, outputs, strict=True)]
    counts = {name: _count_parts(name, arrays, names, copies) for name in rule}
    folded = {shape[: 1 + len(shape) - len(array.dims)] for array, shape in arrays if array.folds_leading}
    if len(folded) > 1:  # rows cut in different ways
        counts = {name: own for name, own in counts.items() if name not in ROWS}
    leading = folded.pop() if len(folded) == 1 else ()
    dims = [_lay_out_array(array, shape, counts, leading) for array, shape in arrays]
    if any(dim.factor == f"{name}0" for own in dims for dim in own for name in ROWS) and _has_flat_rows(arrays):
        dims = [tuple(dim if dim.factor[1:] in {"", "0"} else Dim(size=dim.size) for dim in own) for own in dims]
    found = {dim.factor for own in dims for dim in own if dim.factor}
    ordered = sorted(found, key=lambda factor: (rule.index(factor[0]), factor))
    return Layout(inputs=tuple(dims[: len(inputs)]), outputs=tuple(dims[len(inputs) :]), factors=tuple(ordered))


def _has_flat_rows(arrays: Sequence[tuple[ArraySpec, Shape]]) -> bool:
    """Whether an array has all rows in one dim: split along any but the first of the leading dims, it has gaps."""
    return any(not array.folds_leading and _names_factor(array.dims[0], ROWS) for array, _ in arrays)


def _names_factor(formula: str, rule: Sequence[str]) -> str:
    """The factor that a dim's formula has, or ""."""
    found = {_ALIASES.get(name, name) for name in _list_names(formula)} & set(rule)
    return found.pop() if len(found) == 1 else ""


def _count_parts(
    name: str, arrays: Sequence[tuple[ArraySpec, Shape]], names: Mapping[str, Any], copies: int
) -> dict[str, int]:
    """The count of parts of each dim of the spec that is the factor: those that keep blocks and groups whole."""
    if name == "T":
        own = ("TQ", "TK", "B1") if names["B1"] % copies == 0 else ("TQ", "TK")  # each copy's starts, or with an end
        return dict.fromkeys(own, copies)
    if name == "H" and "HK" in names:
        return {"HQ": names["HQ"]} if names["HK"] == 1 else dict.fromkeys(("HQ", "HK"), names["HK"])
    formulas = [formula for array, _ in arrays for formula in array.dims if _names_factor(formula, (name,))]
    block = math.lcm(*(_find_block(formula) for formula in formulas))
    keys = [key for key in names if _ALIASES.get(key, key) == name and names[key] > 1]
    return {key: names[key] // block if names[key] % block == 0 else 1 for key in keys}


def _find_block(formula: str) -> int:
    return math.prod(int(one or other) for one, other in _QUOTIENT.findall(formula))


def _lay_out_array(
    array: ArraySpec, shape: Shape, counts: Mapping[str, Mapping[str, int]], leading: Shape
) -> tuple[Dim, ...]:
    """`leading`: the dims that fold, in the arrays that have them; each of them is a factor of its own."""
    lead = len(shape) - len(array.dims)
    dims = [_lay_out_dim(formula, size, counts) for formula, size in zip(array.dims, shape[lead:], strict=True)]
    factor = _names_factor(array.dims[0], tuple(name for name in counts if name in ROWS))
    if not factor:
        return tuple(Dim(size=size) for size in shape[:lead]) + tuple(dims)
    if len(leading) > 1 and not array.folds_leading:
        first = [_number(Dim(size=shape[0], factor=dims[0].factor, count=leading[0]), 0)]
    elif lead:
        first = [_number(Dim(size=size, factor=factor, count=size), place) for place, size in enumerate(leading)]
    else:
        first = [_number(dims[0], 0)]
    return (*first, *dims[1:])


def _number(dim: Dim, place: int) -> Dim:
    is_split = dim.factor and dim.count > 1
    return Dim(size=dim.size, factor=f"{dim.factor}{place}", count=dim.count) if is_split else Dim(size=dim.size)


def _lay_out_dim(formula: str, size: int, counts: Mapping[str, Mapping[str, int]]) -> Dim:
    factor = _names_factor(formula, tuple(counts))
    own = next((name for name in _list_names(formula) if _ALIASES.get(name, name) == factor), "")
    count = counts[factor].get(own, 1) if factor else 1
    return Dim(size=size, factor=factor, count=count) if count > 1 and size % count == 0 else Dim(size=size)


def _list_names(formula: str) -> list[str]:
    return re.findall(r"[A-Z]\w*", formula)
