"""Values → fp8, fp6 and fp4 codes with scales, and back; the same bytes as rockiln_kernels' references."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from rockiln_torch.framework.tensors import cut_rows, is_worth_cutting, split_last, widen

FP8 = {
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "e4m3fnuz": torch.float8_e4m3fnuz,
    "e5m2fnuz": torch.float8_e5m2fnuz,
}
MAXIMA = {
    "e4m3": 448.0, "e5m2": 57344.0, "e4m3fnuz": 240.0, "e5m2fnuz": 57344.0, "e2m3": 7.5, "e3m2": 28.0, "e2m1": 6.0,
}  # fmt: skip
SHAPES = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "e2m3": (2, 3, 1), "e3m2": (3, 2, 3), "e2m1": (2, 1, 1)}
"""Element formats of MX: bits of exponent and mantissa, bias. OCP Microscaling Formats (MX) Specification 1.0."""
MX_BLOCK = 32


def name_narrow(dtype: torch.dtype) -> str:
    """Our word for an fp8 dtype. Raises StopIteration for another, which the op's checks do not let through."""
    return next(name for name, own in FP8.items() if own == dtype)


def cast_fp8(values: Tensor, name: str) -> Tensor:
    """To nearest even, saturated; NaN stays NaN. torch's own cast makes NaN of what is too large."""
    limit = MAXIMA[name]
    return values.clamp(-limit, limit).to(FP8[name])


def scale_fp8(largest: Tensor, name: str) -> Tensor:
    """f32 scales of groups with these largest magnitudes; at least 1e-12, NaN of NaN."""
    return (widen(largest).float() / largest.new_full((), MAXIMA[name], dtype=torch.float32)).clamp(min=1e-12)


def apply_scale(values: Tensor, scale: Tensor, name: str) -> Tensor:
    """fp8 codes of values * (1 / scale), both steps in f32."""
    inverse, limit = scale.reciprocal(), MAXIMA[name]
    if not is_worth_cutting(values) or scale.shape != (*values.shape[:-1], 1):
        return (values.float() * inverse).clamp_(-limit, limit).to(FP8[name])
    codes = torch.empty_like(values, dtype=FP8[name], memory_format=torch.contiguous_format)
    flat, factors, result = (
        values.reshape(-1, values.shape[-1]),
        inverse.reshape(-1, 1),
        codes.view(-1, values.shape[-1]),
    )
    for rows in cut_rows(*flat.shape):
        result[rows].copy_((flat[rows].float() * factors[rows]).clamp_(-limit, limit))
    return codes


def find_largest(values: Tensor) -> Tensor:
    """max |.| along the last dim, which may be empty (0); NaN if there is one."""
    if not values.shape[-1]:
        return values.new_zeros(values.shape[:-1])
    return values.abs().amax(dim=-1)


def quantise_fp8(values: Tensor, dtype: torch.dtype, *, group: int = 0) -> tuple[Tensor, Tensor]:
    """q, and q_scale [rows] for each row, or [..., groups] for `group` values of a row."""
    name, length = name_narrow(dtype), values.shape[-1]
    if not group:
        scale = scale_fp8(find_largest(values), name)
        return apply_scale(values, scale.unsqueeze(-1), name), scale.reshape(-1)
    padding = -length % group
    groups = functional.pad(values, (0, padding)) if padding else values
    groups = split_last(groups, (length + padding) // group, group)
    scale = scale_fp8(find_largest(groups), name)
    codes = apply_scale(groups, scale.unsqueeze(-1), name).flatten(-2)
    return (codes[..., :length].contiguous() if padding else codes), scale


def scale_mx(largest: Tensor, form: str) -> Tensor:
    """E8M0 codes (i32) of blocks: the exponent of the largest magnitude rounded to the format's mantissa; 255 is NaN.

    Integer arithmetic on f32's bits: rounding carries into the exponent where the mantissa rounds up to 2.
    """
    exponent_bits, mantissa_bits, bias = SHAPES[form]
    bits = largest.float().view(torch.int32) & 0x7FFFFFFF
    top = (1 << exponent_bits) - 1 - bias - (1 if form == "e5m2" else 0)
    rounded = (bits + (1 << (22 - mantissa_bits))) >> 23
    return (rounded - top).clamp(0, 254).masked_fill(bits >= 0x7F800000, 255)


def expand_scale(code: Tensor) -> Tensor:
    """f32 2^(code - 127) of E8M0 codes; NaN of 255, and of 0 the subnormal 2^-127."""
    wide = code.int()
    bits = (wide << 23).masked_fill(wide == 0, 1 << 22).masked_fill(wide == 255, 0x7FC00000)
    return bits.view(torch.float32)


def encode_small(values: Tensor, form: str) -> Tensor:
    """Codes (u8) of f32 values in fp6 or fp4: to nearest even, saturated; NaN has no code and must not be there."""
    exponent_bits, mantissa_bits, bias = SHAPES[form]
    bits = values.view(torch.int32)
    sign = (bits >> 31) & 1
    magnitude = values.abs().clamp(max=MAXIMA[form])
    own = magnitude.view(torch.int32)
    shift = 23 - mantissa_bits
    normal = ((own + ((1 << (shift - 1)) - 1) + ((own >> shift) & 1)) >> shift) - ((127 - bias) << mantissa_bits)
    step = 2.0 ** (1 - bias - mantissa_bits)
    small = (magnitude * (1.0 / step)).round().int()  # to even; 2^mantissa_bits is the code of the least normal number
    code = torch.where(magnitude < 2.0 ** (1 - bias), small, normal)
    return (code | sign << (exponent_bits + mantissa_bits)).to(torch.uint8)


def quantise_mx(values: Tensor, form: str) -> tuple[Tensor, Tensor]:
    """q packed and q_scale [..., N / 32] u8 of values [..., N], N a multiple of 32."""
    blocks = split_last(values.float(), values.shape[-1] // MX_BLOCK, MX_BLOCK)
    scale = scale_mx(find_largest(blocks), form)
    is_nan = (scale == 255).unsqueeze(-1)
    factor = expand_scale((254 - scale).clamp(min=0)).unsqueeze(-1)  # 2^(127 - scale)
    scaled = (blocks.masked_fill(is_nan, 0.0) * factor).flatten(-2)
    if form in FP8:
        return cast_fp8(scaled, form), scale.to(torch.uint8)
    return pack_codes(encode_small(scaled, form), form), scale.to(torch.uint8)


def pack_codes(codes: Tensor, form: str) -> Tensor:
    """u8 codes [..., N] → bytes: fp4 two a byte, fp6 four in three, the first element in the lowest bits."""
    if form == "e2m1":
        return codes[..., 0::2] | codes[..., 1::2] << 4
    a, b, c, d = (codes[..., place::4] for place in range(4))
    parts = (a | b << 6, b >> 2 | c << 4, c >> 4 | d << 2)  # u8 drops what is shifted out
    return torch.stack(parts, dim=-1).flatten(-2)


def unpack_codes(packed: Tensor, form: str) -> Tensor:
    """The inverse of pack_codes."""
    if form == "e2m1":
        return torch.stack((packed & 15, packed >> 4), dim=-1).flatten(-2)
    a, b, c = (packed[..., place::3] for place in range(3))
    parts = (a & 63, (a >> 6 | b << 2) & 63, (b >> 4 | c << 4) & 63, c >> 2)
    return torch.stack(parts, dim=-1).flatten(-2)


def list_values(form: str) -> list[float]:
    """What the codes of an fp6 or fp4 format stand for, in order."""
    exponent_bits, mantissa_bits, bias = SHAPES[form]
    magnitudes = []
    for code in range(1 << (exponent_bits + mantissa_bits)):
        exponent, fraction = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
        lead = 1 if exponent else 0
        magnitudes.append((lead + fraction / (1 << mantissa_bits)) * 2.0 ** (max(exponent, 1) - bias))
    return [*magnitudes, *(-value for value in magnitudes)]


def decode_elements(q: Tensor, form: str) -> Tensor:
    """f32 values of packed codes [..., bytes]."""
    if form in FP8:
        return (q if q.dtype == FP8[form] else q.view(FP8[form])).float()
    values = list_values(form)
    if form == "e2m1":  # two at a time, by byte
        pairs = [[values[byte & 15], values[byte >> 4]] for byte in range(256)]
        return functional.embedding(q.int(), torch.tensor(pairs, device=q.device)).flatten(-2)
    table = torch.tensor(values, device=q.device).unsqueeze(-1)
    return functional.embedding(unpack_codes(q, form).int(), table).squeeze(-1)


def dequantise_mx(q: Tensor, scale: Tensor, form: str) -> Tensor:
    """f32 [..., G * 32] of packed codes and E8M0 scales [..., G]."""
    values = decode_elements(q, form)
    return (split_last(values, scale.shape[-1], MX_BLOCK) * expand_scale(scale).unsqueeze(-1)).flatten(-2)
