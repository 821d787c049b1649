"""torch with CUDA, if it is installed → the time of its own op for a call, and of a large bf16 product."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from gpu.calls import TimedCall

_SIZE = 8192
WARM_UP, BATCHES, LAUNCHES = 3, 5, 20


def find_torch() -> tuple[Any, str]:
    """(torch, ""), or (None, why not)."""
    try:
        import torch  # type: ignore[import-not-found]  # only where the machine has it
    except ImportError as error:
        return None, f"unavailable: {error}"
    return (torch, "") if torch.cuda.is_available() else (None, "unavailable: this torch has no CUDA")


def measure_product(torch: Any) -> float:
    """bf16 operations a second of torch's (cuBLAS's) product of two 8192 x 8192 matrices."""
    a, b = (torch.randn(_SIZE, _SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return 2 * float(_SIZE) ** 3 / (_measure_us(torch, lambda: a @ b) / 1e6)


def measure_framework(torch: Any, call: TimedCall) -> tuple[float, str]:
    """(microseconds of torch's op, ""), or (0, why there is none)."""
    make = _OPS.get(call.op)
    if make is None or call.cell != "bf16":
        return 0.0, "torch has no such op"
    try:
        with torch.no_grad():
            return round(_measure_us(torch, make(torch, call.dims)), 3), ""
    except (RuntimeError, TypeError) as error:  # out of memory, or a torch without the argument
        return 0.0, f"torch's op failed: {error}"


def _measure_us(torch: Any, work: Callable[[], Any]) -> float:
    times = []
    for number in range(WARM_UP + BATCHES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(LAUNCHES):
            work()
        end.record()
        end.synchronize()
        if number >= WARM_UP:
            times.append(start.elapsed_time(end) * 1000.0 / LAUNCHES)
    return float(statistics.median(times))


def _draw(torch: Any, *shape: int) -> Any:
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def _norm(torch: Any, dims: Mapping[str, int]) -> Callable[[], Any]:
    x, weight = _draw(torch, dims["M"], dims["N"]), _draw(torch, dims["N"])
    return lambda: torch.nn.functional.rms_norm(x, (dims["N"],), weight, 1e-6)


def _gate(name: str, **options: str) -> Callable[[Any, Mapping[str, int]], Callable[[], Any]]:
    def make(torch: Any, dims: Mapping[str, int]) -> Callable[[], Any]:
        gate, up = _draw(torch, dims["M"], dims["D2"]).chunk(2, dim=-1)
        return lambda: getattr(torch.nn.functional, name)(gate, **options) * up

    return make


def _gemm(torch: Any, dims: Mapping[str, int]) -> Callable[[], Any]:
    a, b = _draw(torch, dims["M"], dims["K"]), _draw(torch, dims["N"], dims["K"])
    return lambda: torch.nn.functional.linear(a, b)


def _attention(torch: Any, dims: Mapping[str, int]) -> Callable[[], Any]:
    q = _draw(torch, 1, dims["HQ"], dims["TQ"], dims["D"])
    k, v = (_draw(torch, 1, dims["HK"], dims["TK"], dims["D"]) for _ in range(2))
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(q, k, v, is_causal=True, enable_gqa=True)


_OPS: Mapping[str, Callable[[Any, Mapping[str, int]], Callable[[], Any]]] = {
    "rms_norm": _norm,
    "silu_and_mul": _gate("silu"),
    "gelu_and_mul": _gate("gelu"),
    "gelu_tanh_and_mul": _gate("gelu", approximate="tanh"),
    "gemm": _gemm,
    "stream_k_gemm": _gemm,
    "attention_prefill": _attention,
}
