"""A family's name → a tiny model of it with random weights, in the layouts of the real ones."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from torch import nn

SHARED: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "use_cache": False,
}
WORDS: dict[str, dict[str, Any]] = {
    "Llama": {"num_key_value_heads": 2, "intermediate_size": 96},
    "Qwen3": {"num_key_value_heads": 2, "intermediate_size": 96, "head_dim": 32},
    "Qwen3Moe": {
        "num_key_value_heads": 2, "intermediate_size": 96, "head_dim": 32, "moe_intermediate_size": 32,
        "num_experts": 6, "num_experts_per_tok": 2, "norm_topk_prob": True,
    },
    "DeepseekV3": {
        "num_key_value_heads": 4, "intermediate_size": 96, "moe_intermediate_size": 32, "n_routed_experts": 8,
        "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2, "first_k_dense_replace": 1, "q_lora_rank": 24,
        "kv_lora_rank": 16, "qk_rope_head_dim": 16, "qk_nope_head_dim": 32, "v_head_dim": 24, "n_shared_experts": 1,
    },
    "GptOss": {
        "num_key_value_heads": 2, "intermediate_size": 64, "head_dim": 32, "num_local_experts": 6,
        "num_experts_per_tok": 2, "sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"],
    },
}  # fmt: skip


def make_model(family: str, dtype: torch.dtype = torch.float32) -> nn.Module:
    """The causal language model, in eval mode, its weights large enough for differences to show."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**SHARED, **WORDS[family])
    config._attn_implementation = "eager"
    model = getattr(transformers, f"{family}ForCausalLM")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape) * (0.5 if parameter.ndim == 1 else 0.15))
    return model.to(dtype).eval()


def make_tokens(rows: int = 2, length: int = 11) -> torch.Tensor:
    """Token ids without padding."""
    return torch.randint(1, 64, (rows, length), generator=torch.Generator().manual_seed(1))
