"""Attention in bf16 by AMX: right in every corner of blocks, windows and sinks, and left to torch where it must be."""

from __future__ import annotations

import itertools

import pytest
import torch

from rockiln_torch import native
from rockiln_torch.framework import attention, compose, tiled_attention

SHAPES = (  # heads, groups, queries, keys, width
    (4, 2, 33, 65, 64), (2, 2, 70, 5, 64), (8, 1, 300, 600, 64), (3, 3, 17, 300, 128), (2, 1, 90, 90, 256),
    (6, 2, 31, 31, 96), (2, 1, 2, 700, 32), (1, 1, 256, 256, 32),
)  # fmt: skip
HAS_TILES = bool(native.open_library().rockiln_torch_has_attention())
needs_tiles = pytest.mark.skipif(not HAS_TILES, reason="this CPU has no AMX for bf16")


def draw(heads: int, groups: int, queries: int, keys: int, width: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(queries + keys)
    shapes = ((heads, queries, width), (groups, keys, width), (groups, keys, width))
    return tuple(torch.randn(shape, generator=generator).bfloat16() for shape in shapes)


@needs_tiles
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_attention_by_tiles_is_that_of_float64(shape: tuple[int, ...], causal: bool) -> None:
    q, k, v = draw(*shape)
    heads, queries, keys = shape[0], shape[2], shape[3]
    for window, has_sinks in itertools.product((-1, 0, 5, 100), (False, True)):
        sinks = torch.linspace(-2.0, 2.0, heads) if has_sinks else None
        found = tiled_attention.attend_by_tiles(q, k, v, 0.2, sinks, causal=causal, window_left=window)
        assert found is not None
        seen = attention.see_keys(
            slice(0, queries), queries, keys, causal=causal, window_left=window, device=torch.device("cpu")
        )
        wide = None if sinks is None else sinks.double()
        want, lse = attention._attend_block(q.double(), k.double(), v.double(), 0.2, wide, seen)
        torch.testing.assert_close(found[1].double(), lse, rtol=1e-6, atol=4e-6)
        assert ((found[0].double() - want).abs() <= 2.0**-8 * want.abs() + 0.012).all(), (window, has_sinks)


@needs_tiles
def test_sinks_without_end_take_all_or_nothing() -> None:
    q, k, v = draw(3, 1, 20, 40, 64)
    sinks = torch.tensor([torch.inf, -torch.inf, 0.0])
    plain, sunk = (attention.attend(q, k, v, 0.1, own, causal=True) for own in (None, sinks))
    assert not sunk[0][0].any()
    assert sunk[1][0].isposinf().all()
    assert torch.equal(sunk[0][1], plain[0][1])
    assert torch.equal(sunk[1][1], plain[1][1])
    assert (sunk[1][2] > plain[1][2]).all()


@needs_tiles
def test_layouts_and_threads_do_not_change_a_bit() -> None:
    q, k, v = draw(4, 2, 130, 300, 64)
    want = tiled_attention.attend_by_tiles(q, k, v, 0.1, None, causal=True, window_left=-1)
    assert want is not None
    turned = [part.transpose(0, 1).contiguous().transpose(0, 1) for part in (q, k, v)]
    spread = [torch.stack((part, part), dim=-1)[..., 0] for part in (q, k, v)]
    threads = torch.get_num_threads()
    try:
        for own, count in ((turned, 1), (spread, 1), ((q, k, v), 3)):
            torch.set_num_threads(count)
            got = tiled_attention.attend_by_tiles(*own, 0.1, None, causal=True, window_left=-1)
            assert got is not None
            assert all(torch.equal(one, other) for one, other in zip(got, want, strict=True))
    finally:
        torch.set_num_threads(threads)


def test_other_types_widths_and_what_autograd_follows_are_left_to_torch() -> None:
    q, k, v = draw(2, 1, 8, 8, 64)
    assert tiled_attention.takes_tiles(q, k, v, None) == HAS_TILES
    assert not tiled_attention.takes_tiles(q.float(), k.float(), v.float(), None)
    assert not tiled_attention.takes_tiles(q[..., :40], k[..., :40], v[..., :40], None)
    assert not tiled_attention.takes_tiles(q.clone().requires_grad_(), k, v, None)


def test_products_of_others_are_right_before_and_after() -> None:
    """oneDNN's and torch's own kernels find the CPU's tiles as they had set them."""
    q, k, v = draw(4, 4, 64, 64, 64)
    starts = torch.tensor([0, 64], dtype=torch.int32)
    rows = [part.transpose(0, 1) for part in (q, k, v)]
    found = []
    for _ in range(3):
        found += [torch.nn.functional.linear(q, k[0]), torch.nn.functional.scaled_dot_product_attention(q, k, v)]
        torch.ops.rockiln.gemm_swiglu(q[0], k[0])
        compose("attention_prefill")(*rows, starts, starts, scale=0.1, max_seqlen_q=64)
    for place in (0, 1):
        assert all(torch.equal(found[place], other) for other in found[place::2])
