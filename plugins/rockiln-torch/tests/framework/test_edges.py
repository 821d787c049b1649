"""Compositions at the edges: nothing at all, one number, every value of bf16, all masked, large enough to be cut."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
import torch

from rockiln_kernels.references.narrow import encode, quantise_mx
from rockiln_torch import ops
from rockiln_torch.framework import compose, products
from rockiln_torch.framework.narrow import FP8, MX_BLOCK, SHAPES, cast_fp8, dequantise_mx, encode_small
from rockiln_torch.framework.narrow import quantise_mx as quantise
from rockiln_torch.framework.tensors import is_finite

EVERY_BF16 = torch.arange(65536, dtype=torch.int32).to(torch.uint16).view(torch.bfloat16)


@pytest.mark.parametrize("form", FP8)
def test_every_bf16_rounds_to_the_fp8_of_the_reference(form: str) -> None:
    got = cast_fp8(EVERY_BF16.float(), form).view(torch.uint8).numpy()
    want = encode(EVERY_BF16.double().numpy(), form)
    both_nan = np.isnan(
        got.view(getattr(ml_dtypes, f"float8_{form.replace('e4m3', 'e4m3fn') if form == 'e4m3' else form}")).astype(
            np.float32
        )
    )
    assert np.array_equal(got[~both_nan], want[~both_nan])
    assert np.array_equal(both_nan, np.isnan(EVERY_BF16.float().numpy()))


@pytest.mark.parametrize("form", ["e2m1", "e2m3", "e3m2"])
def test_every_finite_bf16_rounds_to_the_small_code_of_ml_dtypes(form: str) -> None:
    values = EVERY_BF16.float()[EVERY_BF16.isfinite()]
    own = getattr(ml_dtypes, {"e2m1": "float4_e2m1fn", "e2m3": "float6_e2m3fn", "e3m2": "float6_e3m2fn"}[form])
    limit = float(ml_dtypes.finfo(own).max)
    want = values.clamp(-limit, limit).numpy().astype(own).view(np.uint8)
    assert np.array_equal(encode_small(values, form).numpy(), want)


@pytest.mark.parametrize("form", SHAPES)
def test_blocks_of_every_exponent_have_the_bytes_of_the_reference(form: str) -> None:
    generator = np.random.default_rng(7)
    values = generator.standard_normal((280, MX_BLOCK)) * 2.0 ** np.arange(-150, 130)[:, None]
    narrow = np.clip(values, -3.4e38, 3.4e38).astype(np.float32)
    want = quantise_mx(narrow.astype(np.float64), form)
    q, scale = quantise(torch.from_numpy(narrow), form)
    assert np.array_equal(scale.numpy(), want["q_scale"])
    assert np.array_equal(q.view(torch.uint8).numpy(), want["q"])


@pytest.mark.parametrize("form", SHAPES)
def test_what_is_dequantised_quantises_to_itself(form: str) -> None:
    q, scale = quantise(torch.randn(5, 96, generator=torch.Generator().manual_seed(1)), form)
    again, other = quantise(dequantise_mx(q, scale, form), form)
    assert torch.equal(dequantise_mx(again, other, form), dequantise_mx(q, scale, form))


def test_nothing_gives_nothing() -> None:
    none, weight = torch.zeros(0, 8), torch.ones(8)
    assert compose("rms_norm")(none, weight)[0].shape == (0, 8)
    assert compose("silu_and_mul")(none)[0].shape == (0, 4)
    assert compose("silu_and_mul")(torch.zeros(3, 0))[0].shape == (3, 0)
    assert compose("gemm_silu")(none.bfloat16(), torch.ones(5, 8).bfloat16())[0].shape == (0, 5)
    assert [out.shape for out in compose("quant_fp8_group")(none, out_dtype=FP8["e4m3"])] == [(0, 8), (0, 1)]
    assert [out.shape for out in compose("quant_fp8_tensor")(none, out_dtype=FP8["e4m3"])] == [(0, 8), (1,)]
    for shape, scales in (((0, 8), (0, 1)), ((0, 0), (0, 0)), ((130, 0), (2, 0))):
        blocks = compose("quant_fp8_block")(torch.zeros(shape), out_dtype=FP8["e4m3"])
        assert [out.shape for out in blocks] == [shape, scales]
    assert compose("rope")(torch.zeros(0, 2, 4), torch.ones(1, 2), torch.ones(1, 2), torch.zeros(0, dtype=torch.int32))[
        0
    ].shape == (0, 2, 4)
    assert [out.shape for out in compose("topk_softmax")(none, top=2)] == [(0, 2), (0, 2)]
    ids = torch.zeros(0, 2, dtype=torch.int32)
    assert [out.shape for out in compose("moe_align")(ids, experts=3, block_size=4)] == [(0,), (0,), (1,)]
    moe = compose("fused_moe")(none, torch.ones(2, 6, 8), torch.ones(2, 8, 3), torch.zeros(0, 2), ids)
    assert moe[0].shape == (0, 8)


@pytest.mark.parametrize("gathered", [1, 40, 1 << 20])
def test_experts_in_groups_give_the_same(gathered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one expert each, of some, of all; ids that are no expert's among them."""
    generator = torch.Generator().manual_seed(3)
    x, gate_up, down = (torch.randn(shape, generator=generator) for shape in ((9, 8), (5, 12, 8), (5, 8, 6)))
    ids = torch.tensor([[0, 2], [2, 4], [-1, 0], [5, 2], [4, 4], [0, 2], [2, 0], [7, -3], [4, 0]], dtype=torch.int32)
    weights = torch.rand(9, 2, generator=generator)
    want = torch.zeros(9, 8)
    for row, place in ((row, place) for row in range(9) for place in range(2)):
        if 0 <= (expert := int(ids[row, place])) < 5:
            gate, up = (gate_up[expert] @ x[row]).chunk(2)
            want[row] += weights[row, place] * (down[expert] @ (torch.nn.functional.silu(gate) * up))
    monkeypatch.setattr("rockiln_torch.framework.moe.GATHERED_ELEMENTS", gathered)
    torch.testing.assert_close(compose("fused_moe")(x, gate_up, down, weights, ids)[0], want)


def test_attention_that_sees_nothing_is_zero() -> None:
    q, k = torch.randn(3, 2, 8).bfloat16(), torch.randn(1, 2, 8).bfloat16()
    starts = torch.tensor([0, 3], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32)
    out, lse = compose("attention_prefill")(q, k, k, *starts, scale=1.0, max_seqlen_q=3)
    assert not out[:2].any()
    assert (lse[:, :2] == -torch.inf).all()
    assert out[2].any()


@pytest.mark.parametrize("heads", [0, 2])
def test_attention_of_no_heads_is_empty(heads: int) -> None:
    """torch's own flash attention ends the process there: a division by zero."""
    q, k = torch.ones(5, 0, 16), torch.ones(5, heads, 16)
    starts = torch.tensor([0, 5], dtype=torch.int32)
    out, lse = compose("attention_prefill")(q, k, k, starts, starts, scale=1.0, max_seqlen_q=5)
    assert (out.shape, lse.shape) == ((5, 0, 16), (0, 5))


def test_cache_pages_of_nobody_are_never_read() -> None:
    cache = torch.full((4, 2, 1, 8), torch.nan, dtype=torch.bfloat16)
    cache[2] = 1.0
    tables, lens = torch.tensor([[2, -1], [-1, -1]], dtype=torch.int32), torch.tensor([2, 0], dtype=torch.int32)
    out, lse = compose("paged_decode")(torch.ones(2, 1, 2, 8).bfloat16(), cache, cache, tables, lens, scale=1.0)
    assert (out[0] == 1.0).all()
    assert not out[1].any()
    assert (lse[1] == -torch.inf).all()


@pytest.mark.parametrize("op", ["rms_norm", "silu_and_mul", "silu_and_mul_backward"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_cut_into_blocks_are_the_same_bits(op: str, dtype: torch.dtype) -> None:
    x = torch.randn(3, 57, 1024, generator=torch.Generator().manual_seed(2)).to(dtype)
    inputs = {"rms_norm": (x, x[0, 0]), "silu_and_mul": (x,), "silu_and_mul_backward": (x[..., ::2].contiguous(), x)}[
        op
    ]
    whole = compose(op)(*inputs)[0]
    rows = [compose(op)(*(part[:, row] if part.ndim == 3 else part for part in inputs))[0] for row in range(57)]
    assert torch.equal(whole, torch.stack(rows, dim=1))


@pytest.mark.parametrize("suffix", ["", "_silu", "_gelu", "_gelu_tanh", "_swiglu"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_without_units_for_halves_are_made_in_f32(
    suffix: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(3)
    a, b = torch.randn(9, 64, generator=generator).to(dtype), torch.randn(10, 64, generator=generator).to(dtype)
    fast = compose(f"gemm{suffix}")(a, b)[0]
    monkeypatch.setattr(products, "has_fast_halves", lambda _dtype: False)
    seen = []
    plain = products._multiply_plain
    monkeypatch.setattr(products, "_multiply_plain", lambda *args: seen.append(args[0].dtype) or plain(*args))
    slow = compose(f"gemm{suffix}")(a, b)[0]
    assert seen == [torch.float32]
    torch.testing.assert_close(slow, fast)


def test_equal_choices_go_to_the_lower_expert_and_nan_is_last() -> None:
    logits = torch.tensor([[1.0, 2.0, 2.0, torch.nan], [-0.0, 0.0, -torch.inf, torch.nan]])
    assert compose("topk_softmax")(logits, top=4)[1].tolist() == [[1, 2, 0, 3], [0, 1, 2, 3]]


def test_heads_without_width_have_gradients() -> None:
    """Of keys of width 0 all weigh alike; of values of width 0 there is nothing but shapes."""
    starts = torch.tensor([0, 4], dtype=torch.int32)
    v, dout = torch.zeros(4, 1, 8), torch.ones(4, 2, 8)
    q, k = torch.zeros(4, 2, 0), torch.zeros(4, 1, 0)
    out, lse = compose("attention_prefill")(q, k, v, starts, starts, scale=1.0, max_seqlen_q=4, causal=False)
    grads = compose("attention_prefill_backward")(
        q, k, v, out, lse, dout, starts, starts, scale=1.0, max_seqlen_q=4, causal=False
    )
    assert [grad.shape for grad in grads] == [q.shape, k.shape, v.shape]
    assert torch.equal(grads[2], torch.full_like(v, 2.0))  # 8 queries, a quarter of each
    q, k, none, empty = torch.ones(4, 2, 8), torch.ones(4, 1, 8), torch.zeros(4, 1, 0), torch.zeros(4, 2, 0)
    grads = compose("attention_prefill_backward")(
        q, k, none, empty, torch.zeros(2, 4), empty, starts, starts, scale=1.0, max_seqlen_q=4
    )
    assert [grad.shape for grad in grads] == [q.shape, k.shape, none.shape]
    assert not any(grad.any() for grad in grads)


@pytest.mark.parametrize("wide", ["x", "weights"])
def test_experts_are_mixed_in_the_widest_type_of_x(wide: str) -> None:
    dtypes = {"x": torch.bfloat16, "weights": torch.float32, wide: torch.float64}
    x, one = torch.full((2, 128), 1 / 3, dtype=dtypes["x"]), torch.ones(1, 1, 1)
    gate_up = torch.ones(1, 256, 128).to(torch.float8_e4m3fn)
    down = torch.ones(1, 128, 128).to(torch.float8_e4m3fn)
    weights, ids = torch.ones(2, 1, dtype=dtypes["weights"]), torch.zeros(2, 1, dtype=torch.int32)
    scales = one.expand(1, 2, 1).contiguous(), one
    (out,) = compose("fused_moe_fp8")(x, gate_up, scales[0], down, scales[1], weights, ids)
    value = float(x[0, 0]) * 128
    hidden = torch.tensor(value * value / (1 + math.exp(-value)), dtype=torch.float64).to(dtypes["x"])
    assert out.dtype == dtypes["x"]
    torch.testing.assert_close(out, (hidden * 128).to(dtypes["x"]).expand(2, 128), rtol=1e-14, atol=0)


@pytest.mark.parametrize("scales", [0, 1])
def test_a_product_of_no_rows_has_no_scales_or_one(scales: int) -> None:
    a, b = torch.zeros(0, 32).to(torch.float8_e4m3fn), torch.ones(16, 32).to(torch.float8_e4m3fn)
    (out,) = compose("gemm_fp8")(a, b, torch.ones(scales), torch.ones(1))
    assert (out.shape, out.dtype) == ((0, 16), torch.bfloat16)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_numbers_without_end_are_found_in_every_layout(dtype: torch.dtype) -> None:
    plain = torch.randn(5, 7, 9).to(dtype)
    plain[0, 0, 0] = torch.finfo(dtype).max / 2
    views = plain, plain.transpose(0, 1), plain[..., ::2], plain[0, 0], plain[0, 0, ::2], plain[:0], plain[0, 0, 0]
    for view in views:
        assert is_finite(view)
    for value in (torch.nan, torch.inf, -torch.inf):
        spoilt = plain.clone()
        spoilt[4, 6, 8] = value
        for view in (spoilt, spoilt.transpose(0, 1), spoilt[..., ::2], spoilt[4, 6], spoilt[4, 6, 8]):
            assert not is_finite(view)
            assert not is_finite(plain, view)


def test_experts_of_nothing_give_nothing() -> None:
    weights, ids = torch.ones(4, 2), torch.tensor([[0, 1]] * 4, dtype=torch.int32)
    assert ops.fused_moe(torch.ones(4, 0), torch.ones(2, 6, 0), torch.ones(2, 0, 3), weights, ids).shape == (4, 0)


def test_empty_tensors_are_taken_whatever_their_strides_are() -> None:
    assert ops.gemm(torch.zeros(2, 0, 5), torch.zeros(4, 5)).shape == (2, 0, 4)
    assert ops.rms_norm(torch.zeros(2, 0, 5), torch.ones(5)).shape == (2, 0, 5)
    assert ops.silu_and_mul(torch.zeros(2, 0, 6)).shape == (2, 0, 3)
    q, scale = ops.quant_fp8_token(torch.zeros(2, 0, 6), out_dtype=torch.float8_e4m3fn)
    assert (q.shape, scale.shape) == ((2, 0, 6), (0,))
