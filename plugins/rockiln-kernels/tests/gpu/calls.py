"""shapes.toml → TimedCall: the calls whose kernels are timed, of some models at two numbers of tokens, in bf16."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np

from harness.case import Array, Case, make_generator, numpy_dtype
from rockiln_kernels.expressions import Value, evaluate_expression, read_names
from rockiln_kernels.model_shapes import ModelShape, read_models
from rockiln_kernels.spec import ArraySpec, OpSpec
from rockiln_kernels.table import read_origins, read_table

MODELS = ("llama-3.3-70b", "gpt-oss-120b")
TOKENS = (4096, 16)
CARDS = 8
"""Weights of products are split over as many, as they are served."""
_DRAWN = 1 << 16
"""Numbers that are drawn; larger arrays repeat them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCall:
    """A call, and how many operations of multiplication and addition it takes, where that is what limits it."""

    op: str
    cell: str
    shape: str
    case: Case
    operations: int = 0
    dims: Mapping[str, int] = field(default_factory=dict)


def pick_models() -> tuple[ModelShape, ...]:
    """Those of MODELS."""
    return tuple(model for model in read_models() if model.name in MODELS)


def list_calls(models: Sequence[ModelShape], tokens: Sequence[int] = TOKENS) -> Iterator[TimedCall]:
    """Every op whose dims find_dims knows: all of them at one shape, then the next. Arrays are drawn when asked for."""
    for model, count in product(models, tokens):
        for spec in read_table().values():
            cells = [cell for cell in spec.cells if cell.startswith("bf16")] or list(spec.cells[:1])
            family = read_origins()[spec.name]
            dims = find_dims(family, model, count)
            if dims and _read_symbols(spec) <= dims.keys():
                yield _make_call(spec, cells[0], f"{model.name}, {count} tokens", family, dims)


def _read_symbols(spec: OpSpec) -> set[str]:
    return {name for array in spec.inputs if not array.optional for dim in array.dims for name in read_names(dim)}


def find_dims(family: str, model: ModelShape, tokens: int) -> dict[str, int]:
    """The op's symbols as numbers; empty where no shape is known here."""
    if family.endswith("_and_mul"):
        return {"M": tokens, "D2": 2 * model.intermediate}
    if family == "rms_norm" or family.startswith("quant_"):
        return {"M": tokens, "N": model.hidden, "G": model.hidden // 32}
    if family in {"gemm", "gemm_fp8", "gemm_mx", "stream_k_gemm"}:
        inner = {"K": model.hidden, "KH": model.hidden // 2, "SA": 1, "SB": 1}
        return {"M": tokens, "N": 2 * model.intermediate // CARDS, **inner}
    if family == "topk_gating" and model.experts:
        return {"M": tokens, "E": model.experts, "top": model.top_k}
    return _find_head_dims(family, model, tokens)


def _find_head_dims(family: str, model: ModelShape, tokens: int) -> dict[str, int]:
    if family == "rope":
        sizes = {"H": model.heads, "D": model.head_dim, "R": model.head_dim // 2}
        return {**sizes, "L": tokens, "P": tokens}
    if family == "attention_prefill":
        sizes = {"HQ": model.heads, "HK": model.kv_heads, "D": model.head_dim, "DV": model.head_dim}
        return {**sizes, "TQ": tokens, "TK": tokens, "B1": 2}
    return {}


def _make_call(spec: OpSpec, cell: str, shape: str, family: str, dims: Mapping[str, int]) -> TimedCall:
    required = [array for array in spec.inputs if not array.optional]
    arrays = {array.name: _draw(spec, cell, array, dims) for array in required}
    scalars: dict[str, Any] = {"top": dims["top"]} if "top" in dims else {}
    operations = 0
    if family == "attention_prefill":
        scalars = {"scale": dims["D"] ** -0.5, "max_seqlen_q": dims["TQ"]}
        passes = 5 if spec.name.endswith("_backward") else 2
        operations = passes * dims["TQ"] * dims["TK"] * dims["HQ"] * dims["D"]  # half of each product is masked
    elif "K" in dims:
        operations = 2 * dims["M"] * dims["N"] * dims["K"]
    case = Case(name=shape, arrays=arrays, scalars=scalars)
    return TimedCall(op=spec.name, cell=cell, shape=shape, case=case, operations=operations, dims=dims)


def _draw(spec: OpSpec, cell: str, array: ArraySpec, dims: Mapping[str, int]) -> Array:
    names: dict[str, Value] = dict(dims)
    shape = tuple(int(evaluate_expression(dim, names)) for dim in array.dims)
    dtype = spec.cell_dtypes(cell).get(array.dtype, array.dtype)
    if dtype == "i32":
        last = dims.get("TQ", 0)  # cu_seqlens of one sequence, or positions in turn
        return np.array([0, last], np.int32) if last else np.arange(shape[0], dtype=np.int32)
    generator = make_generator(spec.name, cell, array.name)
    if dtype == "u8":  # E8M0 scales around 1, or codes without e4m3's NaN
        low, high = (120, 128) if array.name.endswith("scale") else (0, 127)
        return np.resize(generator.integers(low, high, min(_DRAWN, prod(shape))).astype(np.uint8), shape)
    return np.resize(generator.standard_normal(min(_DRAWN, prod(shape))).astype(numpy_dtype(dtype)), shape)
