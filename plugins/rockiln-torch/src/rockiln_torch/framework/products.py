"""a, b → a b^T: by the machine's own half-precision units where it has them, else in f32.

torch multiplies bf16 and f16 matrices on a CPU without such units some fifty times slower than f32 ones; see
docs/torch-cpu.md.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

from rockiln_torch.framework.activations import POINTWISE, activate
from rockiln_torch.framework.tensors import is_finite, is_worth_cutting, needs_gradient, widen
from rockiln_torch.native import prefers_blas

WEIGHT_ELEMENTS = 1 << 20
"""So much of b is widened at a time: 4 MB of f32."""


@lru_cache(maxsize=8)
def has_fast_halves(dtype: torch.dtype) -> bool:
    """Whether this CPU multiplies matrices of `dtype` with oneDNN, as torch itself asks before it does."""
    name = {torch.bfloat16: "_is_mkldnn_bf16_supported", torch.float16: "_is_mkldnn_fp16_supported"}.get(dtype)
    has_library: bool = torch.backends.mkldnn.is_available()
    ask = getattr(torch.ops.mkldnn, name, None) if name and has_library else None
    return bool(ask and ask())


def is_multiplied_as_is(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether torch's own product of `dtype` is the fast one on `device`."""
    if device.type != "cpu" or dtype in {torch.float32, torch.float64}:
        return True
    is_on = bool(torch.backends.mkldnn.enabled)
    return is_on and has_fast_halves(dtype)


def multiply(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a b^T + bias of a [..., K] and b [N, K], rounded once, to the dtype of a."""
    if is_multiplied_as_is(a.dtype, a.device):
        return _multiply_plain(a, b, bias)
    return multiply_wide(a, b, bias).to(a.dtype)


def multiply_wide(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a b^T + bias in f32 (f64 if a or b is), for what is computed before it is rounded."""
    dtype = torch.promote_types(widen(a).dtype, widen(b).dtype)
    own = None if bias is None else bias.to(dtype)
    if not is_worth_cutting(b, a) or needs_gradient(bias):
        return _multiply_plain(a.to(dtype), b.to(dtype), own)
    wide, out = a.to(dtype).reshape(-1, a.shape[-1]), []
    for start in range(0, b.shape[0], step := max(1, WEIGHT_ELEMENTS // b.shape[1])):
        part = None if own is None else own[start : start + step]
        out.append(functional.linear(wide, b[start : start + step].to(dtype), part))
    return torch.cat(out, dim=1).view(*a.shape[:-1], b.shape[0])


def _multiply_plain(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    """By torch's own linear; f32 on a CPU by oneDNN where torch's BLAS has no such speed on this processor."""
    if (
        a.dtype == b.dtype == torch.float32
        and not prefers_blas(a.shape[:-1].numel(), *b.shape)
        and _is_taken_by_onednn(a, b, bias)
        and bool(torch.backends.mkldnn.enabled)
        and torch.backends.mkldnn.is_available()
    ):
        return multiply_pointwise(a, b, bias, "")
    return functional.linear(a, b, bias)


def multiply_and_activate(
    a: Tensor, b: Tensor, bias: Tensor | None, suffix: str, *, interleaved: bool = False
) -> Tensor:
    """The epilogue of a b^T + bias, rounded once, to the dtype of a."""
    if not suffix:
        return multiply(a, b, bias)
    if suffix in POINTWISE and _takes_pointwise(a, b, bias):
        result = multiply_pointwise(a, b, bias, suffix)
        if suffix != "_gelu" or is_finite(result) or not result.isnan().any():  # oneDNN's gelu of infinity is NaN
            return result
    return activate(multiply_wide(a, b, bias), suffix, interleaved=interleaved).to(a.dtype)


def multiply_pointwise(a: Tensor, b: Tensor, bias: Tensor | None, suffix: str) -> Tensor:
    """By oneDNN's product with an epilogue, which is computed in f32 before the result is rounded."""
    name, algorithm = POINTWISE[suffix]
    packed = bias if bias is None else bias.contiguous()  # oneDNN reads it as such, whatever its strides are
    result: Tensor = torch.ops.mkldnn._linear_pointwise(  # noqa: SLF001  # torch.compile's own CPU back end calls it
        a, b, packed, name, [], algorithm
    )
    return result


def _takes_pointwise(a: Tensor, b: Tensor, bias: Tensor | None) -> bool:
    is_half = a.dtype in {torch.bfloat16, torch.float16}
    return is_half and is_multiplied_as_is(a.dtype, a.device) and _is_taken_by_onednn(a, b, bias)


def _is_taken_by_onednn(a: Tensor, b: Tensor, bias: Tensor | None) -> bool:
    return a.device.type == "cpu" and a.numel() > 0 and b.numel() > 0 and not needs_gradient(a, b, bias)
