"""The last node of a spelled-out op → what calls the op instead, or None where it is something else.

What is replaced may round less often than what was written; it computes the same. Where a node cannot be seen through
(cosines that come from outside, a mask) nothing is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node

from rockiln_torch.compile import calls
from rockiln_torch.compile.read_nodes import (
    CASTS,
    find_value,
    is_action,
    name_action,
    read_argument,
    read_number,
    read_pair,
    read_size,
    strip_casts,
)

FLOATS = frozenset({torch.float32, torch.float16, torch.bfloat16})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A call in place of a node."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    seen: frozenset[Node] = frozenset()
    """What lies behind the arguments and was looked at, too: it must be what it was when it was made."""


def find_rms_norm(node: Node) -> Found | None:
    """weight * (x * rsqrt(mean(x^2) + eps)), with any conversions between; or torch's own function."""
    out = find_value(node)
    if out is None or out.dtype not in FLOATS:
        return None
    if name_action(node) == "rms_norm":
        return _read_rms_norm(node)
    last = strip_casts(node)
    if not is_action(last, "mul"):
        return None
    for weight, normal in (read_pair(last), read_pair(last)[::-1]):
        own, scaled = find_value(weight), strip_casts(normal)
        if own is None or own.ndim != 1 or not is_action(scaled, "mul"):
            continue
        for x, factor in (read_pair(scaled), read_pair(scaled)[::-1]):
            eps = _read_eps(factor, strip_casts(x))
            value = find_value(strip_casts(x))
            if eps is not None and value is not None and value.dtype == out.dtype and own.shape[0] == value.shape[-1]:
                return Found(function=calls.call_rms_norm, args=(strip_casts(x), weight, eps))
    return None


def _read_rms_norm(node: Node) -> Found | None:
    x, shape, weight = (
        read_argument(node, place, name) for place, name in ((0, "input"), (1, "normalized_shape"), (2, "weight"))
    )
    eps, value = read_number(read_argument(node, 3, "eps")), find_value(x)
    if weight is None or eps is None or value is None or not isinstance(shape, tuple | list) or len(shape) != 1:
        return None
    width = read_size(shape[0])
    if width is None or width != value.shape[-1]:
        return None
    return Found(function=calls.call_rms_norm, args=(x, weight, eps))


def _read_eps(factor: Any, x: Any) -> float | None:
    """eps of rsqrt(mean(x^2, -1) + eps) of this very x."""
    if not is_action(factor, "rsqrt") or not is_action(factor.args[0], "add"):
        return None
    mean, eps = factor.args[0].args[:2]
    if not is_action(mean, "mean") or read_argument(mean, 1, "dim") not in (-1, [-1], (-1,)):
        return None
    if not read_argument(mean, 2, "keepdim", default=False):
        return None
    power = mean.args[0]
    is_square = is_action(power, "square") or (is_action(power, "pow") and power.args[1] == 2)
    is_product = is_action(power, "mul") and power.args[0] is power.args[1]
    return read_number(eps) if (is_square or is_product) and strip_casts(power.args[0]) is x else None


def find_swiglu(node: Node) -> Found | None:
    """silu(g) * u of two tensors of one shape; of one tensor's halves without a copy."""
    if not is_action(node, "mul"):
        return None
    for gate, up in (read_pair(node), read_pair(node)[::-1]):
        if not is_action(gate, "silu") or len(gate.users) != 1:
            continue
        g = gate.args[0]
        values = find_value(g), find_value(up)
        if values[0] is None or values[1] is None or values[0].shape != values[1].shape:
            return None
        if values[0].dtype != values[1].dtype or values[0].dtype not in FLOATS:
            return None
        whole = _find_whole(g, up)
        return Found(function=calls.call_silu_and_mul, args=(g, up) if whole is None else (whole,))
    return None


def _find_whole(g: Any, up: Any) -> Any:
    """The tensor that g and up are the first and second half of, by chunk(2, -1)."""
    if not (is_action(g, "getitem") and is_action(up, "getitem") and g.args[0] is up.args[0]):
        return None
    parts = g.args[0]
    is_halved = is_action(parts, "chunk") and read_argument(parts, 1, "chunks") == 2
    whole = parts.args[0] if is_halved else None
    value = find_value(whole)
    ends = value is not None and read_argument(parts, 2, "dim", default=0) in {-1, value.ndim - 1}
    return (
        whole if ends and value is not None and value.shape[-1] % 2 == 0 and (g.args[1], up.args[1]) == (0, 1) else None
    )


def find_rope(node: Node) -> Found | None:
    """x * cos + rotate_half(x) * sin, cos and sin being of angles that are written twice, which must be seen."""
    value = find_value(node)
    if not is_action(node, "add") or value is None or value.ndim != 4 or value.dtype not in FLOATS:
        return None
    for plain, turned in (read_pair(node), read_pair(node)[::-1]):
        if not (is_action(plain, "mul") and is_action(turned, "mul")):
            continue
        for half, sin in (read_pair(turned), read_pair(turned)[::-1]):
            x = _find_turned(half)
            if x is None or x not in plain.args:
                continue
            cos = plain.args[1] if plain.args[0] is x else plain.args[0]
            tables = find_value(cos), find_value(sin)
            doubled = [_find_doubled(table) for table in (cos, sin)]
            if None not in doubled and all(_fits(table, value) for table in tables):
                return Found(function=calls.call_rope, args=(x, cos, sin), seen=frozenset(filter(None, doubled)))
    return None


def _fits(table: torch.Tensor | None, x: torch.Tensor) -> bool:
    """[B or 1, 1, L, D] or [B or 1, L, 1, D], beside x of the same width."""
    return (
        table is not None
        and table.ndim == 4
        and table.shape[-1] == x.shape[-1]
        and 1 in tuple(table.shape[1:3])
    )


def _find_turned(node: Any) -> Any:
    """x of cat((-x[..., D / 2 :], x[..., : D / 2]), -1)."""
    if not is_action(node, "cat") or read_argument(node, 1, "dim") != -1 or len(node.args[0]) != 2:
        return None
    first, second = node.args[0]
    if not is_action(first, "neg"):
        return None
    upper = first.args[0]
    if not (is_action(upper, "getitem") and is_action(second, "getitem") and upper.args[0] is second.args[0]):
        return None
    value, places = find_value(second.args[0]), (upper.args[1], second.args[1])
    if value is None or not all(isinstance(one, tuple) and len(one) == 2 for one in places):
        return None
    (others, above), (other, below) = places
    if not (others is other is Ellipsis and isinstance(above, slice) and isinstance(below, slice)):
        return None
    half, bounds = value.shape[-1] // 2, [read_size(one) for one in (above.start, below.stop)]
    is_whole = above.stop is below.start is above.step is below.step is None
    return second.args[0] if is_whole and all(bound is not None and bound == half for bound in bounds) else None


def _find_doubled(node: Any) -> Node | None:
    """The cat((angles, angles), -1) that a table is of, through what keeps its halves equal."""
    for _ in range(12):
        if is_action(node, "cat"):
            parts = node.args[0]
            is_doubled = len(parts) == 2 and parts[0] is parts[1] and read_argument(node, 1, "dim") == -1
            return node if is_doubled else None
        keeps = is_action(node, *CASTS, "unsqueeze", "cos", "sin")
        scaled = is_action(node, "mul") and read_number(node.args[1]) is not None
        picked = (
            is_action(node, "getitem") and find_value(node.args[0]) is not None and node.args[1] == (slice(None), None)
        )
        if not (keeps or scaled or picked):
            return None
        node = node.args[0]
    return None


def find_attention(node: Node) -> Found | None:
    """softmax(q k^T * scale) v without a mask, or scaled_dot_product_attention without mask and dropout."""
    value = find_value(node)
    if value is None or value.ndim != 4 or value.dtype not in FLOATS:
        return None
    if is_action(node, "sdpa"):
        return _read_sdpa(node)
    return _read_products(node) if is_action(node, "matmul") else None


def _read_products(node: Node) -> Found | None:
    weights, v = strip_casts(node.args[0]), node.args[1]
    if is_action(weights, "dropout") and not read_argument(weights, 1, "p", default=0.5):
        weights = strip_casts(weights.args[0])
    if not is_action(weights, "softmax") or read_argument(weights, 1, "dim") not in {-1, 3}:
        return None
    product, scale = _read_scale(strip_casts(weights.args[0]))
    if not is_action(product, "matmul") or not is_action(product.args[1], "transpose"):
        return None
    turned = product.args[1]
    if sorted(int(dim) % 4 for dim in turned.args[1:3]) != [2, 3]:
        return None
    return Found(function=calls.call_attention, args=(product.args[0], turned.args[0], v), kwargs={"scale": scale})


def _read_scale(node: Any) -> tuple[Any, float]:
    """(q k^T, scale) of q k^T * scale, q k^T / number, or q k^T."""
    if is_action(node, "mul", "div"):
        number = read_number(node.args[1])
        if number is None or number == 0.0:
            return None, 0.0
        return node.args[0], number if is_action(node, "mul") else 1.0 / number
    return node, 1.0


def _read_sdpa(node: Node) -> Found | None:
    q, k, v = (read_argument(node, place, name) for place, name in enumerate(("query", "key", "value")))
    mask, dropout = read_argument(node, 3, "attn_mask"), read_argument(node, 4, "dropout_p", default=0.0)
    causal = read_argument(node, 5, "is_causal", default=False)
    scale, values = node.kwargs.get("scale"), (find_value(q), find_value(k))
    if mask is not None or dropout or values[0] is None or values[1] is None or not isinstance(causal, bool):
        return None
    if causal and values[0].shape[2] != values[1].shape[2]:
        return None  # torch's first query stands at the first key, ours the last at the last
    words = {"scale": values[0].shape[-1] ** -0.5 if scale is None else scale, "causal": causal}
    return Found(function=calls.call_attention, args=(q, k, v), kwargs=words)


PATTERNS: dict[str, Callable[[Node], Found | None]] = {
    "rms_norm": find_rms_norm,
    "silu_and_mul": find_swiglu,
    "rope": find_rope,
    "attention_prefill": find_attention,
}
"""Op → what finds its spellings."""
