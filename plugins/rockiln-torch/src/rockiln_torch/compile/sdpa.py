"""torch.nn.functional.scaled_dot_product_attention → rockiln's attention, within a with block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from rockiln_torch.compile.calls import call_attention

_FLOATS = frozenset({torch.float32, torch.float16, torch.bfloat16})


class _Override(TorchFunctionMode):
    """Takes the calls that find_reason has nothing against."""

    def __torch_function__(  # torch's name
        self,
        func: Callable[..., Any],
        types: Sequence[type],  # torch's signature
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        words = dict(kwargs or {})
        if func is functional.scaled_dot_product_attention:
            return attend(*args, **words)
        return func(*args, **words)


@contextmanager
def override_sdpa() -> Iterator[None]:
    """Within it, in this thread, calls without mask and dropout run on rockiln's attention; all others on torch's."""
    with _Override():
        yield


def attend(  # noqa: PLR0913  # torch's own arguments
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,  # as torch has it
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """As scaled_dot_product_attention."""
    own = 1.0 / query.shape[-1] ** 0.5 if scale is None else scale
    if find_reason(query, key, value, has_mask=attn_mask is not None or dropout_p > 0.0, is_causal=is_causal):
        return functional.scaled_dot_product_attention(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    if key.shape[1] != query.shape[1] and not enable_gqa:
        raise ValueError(f"query has {query.shape[1]} heads, key {key.shape[1]}; hint: enable_gqa=True")
    return call_attention(query, key, value, scale=own, causal=is_causal)


def find_reason(query: Tensor, key: Tensor, value: Tensor, *, has_mask: bool, is_causal: bool) -> str:
    """Why a call stays torch's; empty where it does not."""
    if has_mask:
        return "it has a mask or dropout"
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        return "its tensors are not [batch, heads, length, width]"
    if query.dtype not in _FLOATS or not query.dtype == key.dtype == value.dtype:
        return f"its dtypes are {query.dtype}, {key.dtype}, {value.dtype}"
    if is_causal and query.shape[2] != key.shape[2]:
        return "torch's first query stands at the first key, ours the last at the last"
    return ""
