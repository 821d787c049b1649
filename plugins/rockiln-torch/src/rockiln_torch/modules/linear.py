"""x → x W^T + bias, W in fp8 blocks of 128 x 128 or in MXFP4 or MXFP8."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rockiln_torch import ops
from rockiln_torch.modules.packed import Packed, describe_fields, freeze

BLOCK = 128
MX_BLOCK = 32
MX_ELEMENTS = {"mxfp4": 2, "mxfp8": 1}
"""MX format → elements a byte."""


def count_blocks(size: int) -> int:
    """Blocks of 128 that hold `size` values."""
    return -(-size // BLOCK)


class Fp8Linear(Packed):
    """A linear layer with weights in fp8.

    `weight` [out, in] fp8; `weight_scale` [cdiv(out, 128), cdiv(in, 128)] f32, as DeepSeek V3's weight_scale_inv;
    `bias` [out] f32 or None. x [..., in] is quantised by 128 values of a row. The result has the dtype of x.
    """

    packed_names = ("weight", "weight_scale", "bias")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = False,
        dtype: torch.dtype = torch.float8_e4m3fn,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        shape = count_blocks(out_features), count_blocks(in_features)
        self.weight = freeze(torch.empty(out_features, in_features, dtype=dtype, device=device))
        self.weight_scale = freeze(torch.ones(shape, dtype=torch.float32, device=device))
        self.bias = freeze(torch.zeros(out_features, dtype=torch.float32, device=device)) if bias else None

    @classmethod
    def from_linear(cls, linear: nn.Linear, dtype: torch.dtype = torch.float8_e4m3fn) -> Fp8Linear:
        """The same layer, its weight quantised."""
        made = cls(linear.in_features, linear.out_features, dtype=dtype, device="meta")
        q, scale = ops.quant_fp8_block(_as_input(linear.weight.detach()), out_dtype=dtype)
        made.weight, made.weight_scale = freeze(q), freeze(scale)
        made.bias = _take_bias(linear)
        return made

    def forward(self, x: Tensor) -> Tensor:
        """[..., out] of x [..., in]."""
        q, scale = ops.quant_fp8_group(_as_input(x), out_dtype=self.weight.dtype)
        rows = q.reshape(-1, self.in_features)
        out = ops.gemm_fp8_block(rows, self.weight, scale.reshape(rows.shape[0], -1), self.weight_scale, self.bias)
        return out.reshape(*x.shape[:-1], self.out_features).to(x.dtype)

    def extra_repr(self) -> str:
        """For print."""
        fields = {"in_features": self.in_features, "out_features": self.out_features, "bias": self.bias is not None}
        return describe_fields(**fields, dtype=self.weight.dtype)


class MxLinear(Packed):
    """A linear layer with weights in MXFP4 or MXFP8, widened in registers; x is bf16 there.

    `weight` [out, in / 2] or [out, in] u8, `weight_scale` [out, in / 32] u8 (E8M0), as quant_mxfp4 and quant_mxfp8
    leave them; `bias` [out] f32 or None. in_features is a multiple of 32. The result has the dtype of x.
    """

    packed_names = ("weight", "weight_scale", "bias")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = False,
        form: str = "mxfp4",
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        if form not in MX_ELEMENTS:
            raise ValueError(f"form {form!r} is not one of {', '.join(MX_ELEMENTS)}")
        if in_features % MX_BLOCK:
            raise ValueError(f"in_features = {in_features} is no multiple of 32, an MX block")
        self.in_features, self.out_features, self.form = in_features, out_features, form
        width = in_features // MX_ELEMENTS[form]
        self.weight = freeze(torch.zeros(out_features, width, dtype=torch.uint8, device=device))
        scale = torch.full((out_features, in_features // MX_BLOCK), 127, dtype=torch.uint8, device=device)
        self.weight_scale = freeze(scale)
        self.bias = freeze(torch.zeros(out_features, dtype=torch.float32, device=device)) if bias else None

    @classmethod
    def from_linear(cls, linear: nn.Linear, form: str = "mxfp4") -> MxLinear:
        """The same layer, its weight quantised. Raises ValueError for a width that is no multiple of 32."""
        made = cls(linear.in_features, linear.out_features, form=form, device="meta")
        weight = _as_input(linear.weight.detach())
        q, scale = (
            ops.quant_mxfp4(weight) if form == "mxfp4" else ops.quant_mxfp8(weight, out_dtype=torch.float8_e4m3fn)
        )
        made.weight, made.weight_scale = freeze(q.view(torch.uint8)), freeze(scale)
        made.bias = _take_bias(linear)
        return made

    def forward(self, x: Tensor) -> Tensor:
        """[..., out] of x [..., in]."""
        multiply = ops.gemm_mxfp4_weights if self.form == "mxfp4" else ops.gemm_mxfp8_weights
        out = multiply(x.to(torch.bfloat16), self.weight, self.weight_scale, self.bias)
        return out.to(x.dtype)

    def extra_repr(self) -> str:
        """For print."""
        fields = {"in_features": self.in_features, "out_features": self.out_features, "bias": self.bias is not None}
        return describe_fields(**fields, form=self.form)


def _take_bias(linear: nn.Linear) -> nn.Parameter | None:
    bias: Tensor | None = linear.bias
    return None if bias is None else freeze(bias.detach().float())


def _as_input(x: Tensor) -> Tensor:
    """What the quantising ops take: f64 as f32."""
    return x.float() if x.dtype == torch.float64 else x
