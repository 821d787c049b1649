"""AITER's fused_moe → rockiln's fused_moe and fused_moe_fp8. ROCm/aiter e4048607, aiter/fused_moe.py."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from rockiln_torch import ops
from rockiln_torch.aiter.numbers import ActivationType, QuantType, read_number
from rockiln_torch.aiter.options import Options
from rockiln_torch.aiter.unsupported import refuse, refuse_others

_BLOCKS = (QuantType.per_1x128, QuantType.per_128x128)
_OPTIONS = Options(
    function="fused_moe",
    required=5,
    defaults={
        "expert_mask": None, "activation": ActivationType.Silu, "quant_type": QuantType.No, "doweight_stage1": False,
        "w1_scale": None, "w2_scale": None, "a1_scale": None, "a2_scale": None, "block_size_M": None,
        "num_local_tokens": None, "moe_sorting_dispatch_policy": 0, "dtype": None, "hidden_pad": 0,
        "intermediate_pad": 0, "bias1": None, "bias2": None, "splitk": 0, "swiglu_limit": None, "beta": None,
        "linear_beta": None, "gate_mode": "separated", "shared_w1": None, "shared_w2": None, "shared_w1_scale": None,
        "shared_w2_scale": None, "shared_expert_id": -1, "stage2_scatter": None,
    },
    used=frozenset({"activation", "quant_type", "w1_scale", "w2_scale", "dtype", "swiglu_limit", "gate_mode"}),
    hints=frozenset({"block_size_M", "moe_sorting_dispatch_policy", "splitk"}),
)  # fmt: skip


@_OPTIONS.describe
def fused_moe(
    hidden_states: Tensor, w1: Tensor, w2: Tensor, topk_weight: Tensor, topk_ids: Tensor, *args: Any, **words: Any
) -> Tensor:
    """hidden_states [M, K], w1 [E, 2 I, K] of gate, then up, w2 [E, K, I] → a new tensor [M, K]; silu.

    quant_type No: weights in hidden_states' type. per_128x128 (or per_1x128): fp8 weights with f32 scales
    [E, 2 I / 128, K / 128] and [E, K / 128, I / 128]; where AITER rounds activations to fp8, they stay bf16 here.
    Weights are plain, not shuffled: a tensor that says `is_shuffled` is refused; one that lost the mark gives garbage.
    """
    values = _OPTIONS.bind(args, words)
    _check_values(values, hidden_states, (w1, w2))
    scales = values["w1_scale"], values["w2_scale"]
    if read_number(values["quant_type"]) == QuantType.No:
        refuse_others("fused_moe", w1_scale=(scales[0], None), w2_scale=(scales[1], None))
        return ops.fused_moe(hidden_states, w1, w2, topk_weight, topk_ids)
    if scales[0] is None or scales[1] is None:
        raise refuse("fused_moe", "w1_scale and w2_scale are missing")
    shaped = [
        scale.view(weight.shape[0], -(-weight.shape[1] // 128), -1)
        for scale, weight in zip(scales, (w1, w2), strict=True)
    ]
    return ops.fused_moe_fp8(hidden_states, w1, shaped[0], w2, shaped[1], topk_weight, topk_ids)


def _check_values(values: dict[str, Any], hidden_states: Tensor, weights: tuple[Tensor, Tensor]) -> None:
    quant = read_number(values["quant_type"])
    if quant != QuantType.No and quant not in _BLOCKS:
        raise refuse("fused_moe", f"quant_type = {values['quant_type']!r} is not supported, only No and per_128x128")
    if read_number(values["activation"]) != ActivationType.Silu:
        raise refuse("fused_moe", f"activation = {values['activation']!r} is not supported, only Silu")
    if values["swiglu_limit"]:
        raise refuse("fused_moe", f"swiglu_limit = {values['swiglu_limit']} is not supported, only None and 0")
    if values["gate_mode"] not in {None, "", "separated"}:
        raise refuse("fused_moe", f"gate_mode = {values['gate_mode']!r} is not supported, only 'separated'")
    if values["dtype"] not in {None, hidden_states.dtype}:
        raise refuse("fused_moe", f"dtype = {values['dtype']} is not that of hidden_states, {hidden_states.dtype}")
    if any(getattr(weight, "is_shuffled", False) for weight in weights):
        raise refuse("fused_moe", "w1 or w2 is in shuffle_weight's order; give plain weights")
