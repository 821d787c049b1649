"""x and its routes → the weighed sum of experts, their weights in bf16 or f16, fp8 blocks, or MXFP4."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rockiln_torch import ops
from rockiln_torch.modules.linear import MX_BLOCK, count_blocks
from rockiln_torch.modules.packed import Packed, describe_fields, freeze

FORMS = ("wide", "fp8", "mxfp4")
GPT_OSS = {"interleaved": True, "alpha": 1.702, "limit": 7.0, "up_offset": 1.0}
"""The gate of gpt-oss, for `gate`."""


class FusedExperts(Packed):
    """Experts as fused_moe takes them.

    `gate_up` [E, 2 * inner, width] and `down` [E, width, inner] in `dtype` ("wide"), in fp8 with scales
    [E, cdiv(rows, 128), cdiv(columns, 128)] f32, or in MXFP4 (u8, two codes a byte) with scales
    [E, rows, columns / 32] u8. Biases, if any, are in `dtype`; they and wide weights follow a cast, codes do not.
    """

    gate_up: Tensor
    down: Tensor
    gate_up_scale: Tensor
    down_scale: Tensor
    gate_up_bias: Tensor | None
    down_bias: Tensor | None

    def __init__(  # noqa: PLR0913  # all but three have defaults
        self,
        experts: int,
        width: int,
        inner: int,
        *,
        form: str = "wide",
        bias: bool = False,
        dtype: torch.dtype = torch.bfloat16,
        gate: dict[str, Any] | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        if form not in FORMS:
            raise ValueError(f"form {form!r} is not one of {', '.join(FORMS)}")
        self.experts, self.width, self.inner, self.form, self.gate = experts, width, inner, form, dict(gate or {})
        for name, rows, columns in (("gate_up", 2 * inner, width), ("down", width, inner)):
            with torch.device(device or "cpu"):
                weight, scale = _make_weights((experts, rows, columns), form, dtype)
            setattr(self, name, freeze(weight))
            setattr(self, f"{name}_scale", None if scale is None else freeze(scale))
            bound = torch.zeros(experts, rows, dtype=dtype, device=device) if bias else None
            setattr(self, f"{name}_bias", None if bound is None else freeze(bound))
        if form != "wide":
            self.packed_names = ("gate_up", "down", "gate_up_scale", "down_scale")

    @classmethod
    def from_wide(cls, gate_up: Tensor, down: Tensor, *, form: str = "wide", **words: Any) -> FusedExperts:
        """Of matrices [E, 2 * inner, width] and [E, width, inner], quantised to `form`; `words` as of __init__."""
        experts, width, inner = down.shape
        made = cls(experts, width, inner, form=form, dtype=gate_up.dtype, device="meta", **words)
        for name, matrices in (("gate_up", gate_up), ("down", down)):
            if form == "wide":
                setattr(made, name, freeze(matrices.detach().clone()))
                continue
            parts = [_quantise(matrix.detach(), form) for matrix in matrices]
            setattr(made, name, freeze(torch.stack([q.view(torch.uint8) for q, _ in parts]).view(parts[0][0].dtype)))
            setattr(made, f"{name}_scale", freeze(torch.stack([scale for _, scale in parts])))
        return made

    def forward(self, x: Tensor, weights: Tensor, ids: Tensor) -> Tensor:
        """out like x [..., width]; weights and ids [..., top]. Narrow weights take x as bf16."""
        own = x if self.form == "wide" else x.to(torch.bfloat16)
        words = {
            "gate_up_bias": _match(self.gate_up_bias, own), "down_bias": _match(self.down_bias, own), **self.gate
        }  # fmt: skip
        routes = weights.float(), ids.int()
        if self.form == "wide":
            return ops.fused_moe(own, self.gate_up, self.down, *routes, **words)
        multiply = ops.fused_moe_fp8 if self.form == "fp8" else ops.fused_moe_mxfp4
        matrices = self.gate_up, self.gate_up_scale, self.down, self.down_scale
        return multiply(own, *matrices, *routes, **words).to(x.dtype)

    def extra_repr(self) -> str:
        """For print."""
        return describe_fields(experts=self.experts, width=self.width, inner=self.inner, form=self.form)


def _match(bias: Tensor | None, x: Tensor) -> Tensor | None:
    return None if bias is None else bias.to(x.dtype)


def _make_weights(shape: tuple[int, int, int], form: str, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    experts, rows, columns = shape
    if form == "wide":
        return torch.empty(shape, dtype=dtype), None
    if form == "fp8":
        scale = torch.ones(experts, count_blocks(rows), count_blocks(columns), dtype=torch.float32)
        return torch.empty(shape, dtype=torch.float8_e4m3fn), scale
    if columns % MX_BLOCK:
        raise ValueError(f"{columns} columns are no multiple of 32, an MX block")
    codes = torch.zeros(experts, rows, columns // 2, dtype=torch.uint8)
    return codes, torch.full((experts, rows, columns // MX_BLOCK), 127, dtype=torch.uint8)


def _quantise(matrix: Tensor, form: str) -> tuple[Tensor, Tensor]:
    if form == "fp8":
        return ops.quant_fp8_block(matrix, out_dtype=torch.float8_e4m3fn)
    return ops.quant_mxfp4(matrix)
