"""A git directory of ROCm/aiter → signatures.json: `make_signatures.py GIT_DIR`. Facts only: names, defaults, sources.

Nothing of AITER is imported or kept but each function's name, its parameters' names and defaults, and its JIT module.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMITS = {
    "1b00a0e8a54be0411490a69a5d7042abd33a56d9": "v0.1.6.post1, of the weeks of ROCm 7.0.2 and torch 2.8",
    "e4048607a535ace3a2b51ded31b1c8c2d45c0879": "behind v0.1.20.post1",
}
FILES = {
    "aiter/ops/rmsnorm.py": "aiter",
    "aiter/ops/activation.py": "aiter",
    "aiter/ops/quant.py": "aiter",
    "aiter/ops/gemm_op_a8w8.py": "aiter",
    "aiter/ops/moe_op.py": "aiter",
    "aiter/ops/topk.py": "aiter",
    "aiter/ops/mha.py": "aiter",
    "aiter/ops/attention.py": "aiter",
    "aiter/ops/rope.py": "aiter",
    "aiter/ops/pos_encoding.py": "aiter",
    "aiter/fused_moe.py": "aiter.fused_moe",
    "aiter/mla.py": "aiter.mla",
}
"""File → the module that callers import its functions from."""
NAMES = frozenset({
    "rms_norm", "rmsnorm2d_fwd", "rmsnorm2d_fwd_with_add", "rmsnorm2d_fwd_with_dynamicquant",
    "rmsnorm2d_fwd_with_add_dynamicquant", "rmsnorm", "add_rmsnorm", "rmsnorm_quant", "add_rmsnorm_quant",
    "silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "silu_and_mul_quant", "static_per_tensor_quant",
    "dynamic_per_tensor_quant", "dynamic_per_token_scaled_quant", "per_tensor_quant_hip", "per_token_quant_hip",
    "per_group_quant_hip", "get_hip_quant", "gemm_a8w8", "gemm_a8w8_CK", "gemm_a8w8_bpreshuffle",
    "gemm_a8w8_blockscale", "gemm_a8w8_blockscale_bpreshuffle", "topk_softmax", "topk_sigmoid", "biased_grouped_topk",
    "grouped_topk", "moe_fused_gate", "fused_topk", "fused_moe", "flash_attn_func", "flash_attn_varlen_func",
    "paged_attention_rocm", "paged_attention_v1", "paged_attention_ragged", "pa_fwd_asm", "mla_decode_fwd",
    "rope_cached_fwd", "rope_cached_fwd_inplace", "rope_cached_positions_fwd", "rope_cached_positions_fwd_inplace",
    "rope_cached_positions_2c_fwd", "rope_cached_positions_2c_fwd_inplace",
    "rope_cached_positions_offsets_2c_fwd_inplace", "rotary_embedding_fwd",
})  # fmt: skip


def read_commit(repository: str, commit: str) -> list[dict[str, Any]]:
    """The functions of NAMES at a commit, in the order of FILES."""
    found: list[dict[str, Any]] = []
    for path, module in FILES.items():
        command = ["git", "-C", repository, "show", f"{commit}:{path}"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # git, as found
        nodes = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name in NAMES]
        found += [{"name": node.name, "module": module, "file": path, **_read_function(node)} for node in nodes]
    return found


def _read_function(node: ast.FunctionDef) -> dict[str, Any]:
    names = [argument.arg for argument in node.args.args]
    defaults = [ast.unparse(item) for item in node.args.defaults]
    required = len(names) - len(defaults)
    fields: dict[str, Any] = {
        "parameters": [
            [name] if place < required else [name, defaults[place - required]] for place, name in enumerate(names)
        ]
    }
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "compile_ops" and decorator.args:
            fields["jit_module"] = ast.literal_eval(decorator.args[0])
    return fields


def main() -> None:
    """Write the file beside this one."""
    commits = [
        {"commit": commit, "what": what, "functions": read_commit(sys.argv[1], commit)}
        for commit, what in COMMITS.items()
    ]
    lines = [
        f'{{"commit": "{item["commit"]}", "what": "{item["what"]}", "functions": [\n '
        + ",\n ".join(json.dumps(function) for function in item["functions"])
        + "\n]}"
        for item in commits
    ]
    Path(__file__).with_name("signatures.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
