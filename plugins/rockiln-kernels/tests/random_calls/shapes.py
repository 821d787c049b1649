"""A family + random numbers → its cases' module with random shapes in the place of those that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from cases.attention_batch import Batch
from cases.gemm import Product
from cases.paged_decode import Cached
from cases.row_cases import RowCase

Replace = Callable[[str, str, Any], None]
"""Module, name, value: as pytest's monkeypatch sets it."""
Draw = Callable[[Random, int], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """Where a family's cases take their shapes from, how they are drawn, and whether one run of them takes long."""

    module: str
    name: str
    draw: Draw
    is_slow: bool = False


def _draw_rows(random: Random, count: int) -> Any:
    """In the place of list_row_cases."""

    def list_rows(step: int = 1, **_ignored: Any) -> tuple[RowCase, ...]:
        return tuple(
            RowCase(
                name=f"random{number}",
                rows=random.randrange(1, 6),
                columns=step * random.randrange(1, max(2, 700 // step)),
                gap=random.choice((0, 0, 1, 5, 16)),
                is_misaligned=random.random() < 0.5,
            )
            for number in range(count)
        )

    return list_rows


def _draw_products(random: Random, count: int, step: int = 1) -> tuple[Product, ...]:
    return tuple(
        Product(
            name=f"random{number}",
            m=random.randrange(1, 70),
            n=random.randrange(1, 70),
            k=step * random.randrange(1, max(2, 100 // step)),
            gap=random.choice((0, 0, 3, 16)),
            has_bias=random.random() < 0.5,
            is_misaligned=random.random() < 0.5,
        )
        for number in range(count)
    )


def _draw_blocked_products(random: Random, count: int) -> tuple[Product, ...]:
    return _draw_products(random, count, 32)


def _draw_rope(random: Random, count: int) -> list[tuple[str, int, int, int, int]]:
    shapes = []
    for number in range(count):
        pairs = random.randrange(1, 40)
        size = 2 * pairs + random.randrange(30)
        shapes.append((f"random{number}", random.randrange(1, 5), random.randrange(1, 5), size, pairs))
    return shapes


def _draw_alignments(random: Random, count: int) -> list[tuple[str, int, int, int, int]]:
    sizes = random.choices((1, 4, 7, 16, 64), k=count)
    return [
        (f"random{number}", random.randrange(1, 90), random.randrange(1, 5), random.randrange(5, 20), size)
        for number, size in enumerate(sizes)
    ]


def _draw_gating(random: Random, count: int) -> list[tuple[str, int, int, int, int, int]]:
    """Experts in groups, of which some are kept; choices that those suffice for."""
    shapes = []
    for number in range(count):
        groups, size = random.choice((1, 1, 2, 4, 8)), random.randrange(1, 70)
        keep = random.randrange(1, groups + 1)
        top = random.randrange(1, min(keep * size, 16) + 1)
        name = random.choice((f"random{number}", f"ties{number}"))
        shapes.append((name, random.randrange(4, 7), groups * size, top, groups, keep))
    return shapes


def _draw_batches(random: Random, count: int) -> tuple[Batch, ...]:
    """Every one of four widths of heads gets all of them."""
    return tuple(
        Batch(
            name=f"random{number}",
            lengths=tuple((random.randrange(1, 30), random.randrange(50)) for _ in range(random.randrange(1, 4))),
            heads=(heads := random.choice((1, 2)), heads) if random.random() < 0.5 else (random.choice((2, 6)), 2),
            causal=random.random() < 0.7,
            window_left=random.choice((-1, -1, 0, random.randrange(1, 40))),
            has_sinks=random.random() < 0.3,
            gap=random.choice((0, 0, 16)),
        )
        for number in range(-(-count // 4))
    )


def _draw_caches(random: Random, count: int) -> tuple[Cached, ...]:
    return tuple(
        Cached(
            name=f"random{number}",
            lengths=tuple(random.randrange(60) for _ in range(random.randrange(1, 4))),
            queries=random.randrange(1, 4),
            heads=random.choice(((1, 1), (4, 2), (5, 1), (8, 8))),
            block_size=random.choice((1, 5, 16, 64)),
            splits=random.randrange(1, 6),
            window_left=random.choice((-1, -1, random.randrange(40))),
            has_sinks=random.random() < 0.3,
        )
        for number in range(-(-count // 3))
    )


def _draw_latents(random: Random, count: int) -> list[tuple[Any, ...]]:
    shapes: list[tuple[Any, ...]] = []
    for number in range(count):
        lengths = tuple(random.randrange(40) for _ in range(random.randrange(1, 3)))
        heads, size = random.choice((1, 3, 16, 20)), random.choice((1, 5, 16))
        shapes.append((f"random{number}", lengths, random.randrange(1, 4), heads, size, random.randrange(1, 5)))
    return shapes


def _draw_mixtures(random: Random, count: int, step: int = 1) -> list[tuple[str, int, int, int, int, int]]:
    """Names decide on biases and gpt-oss's gate."""
    shapes = []
    for number in range(count):
        experts = random.randrange(1, 9)
        widths = [step * random.randrange(1, max(2, 90 // step)) for _ in range(2)]
        name = random.choice((f"random{number}", "ragged" if step == 1 else "gpt-oss"))
        shapes.append((name, random.randrange(1, 20), random.randrange(1, min(experts, 4) + 1), experts, *widths))
    return shapes


def _draw_narrow_mixtures(random: Random, count: int) -> list[tuple[str, int, int, int, int, int]]:
    return _draw_mixtures(random, count, 32)


def _draw_narrow_rows(random: Random, count: int) -> list[tuple[str, int, int]]:
    """Names decide on alignment."""
    names = random.choices(("random", "tiny"), k=count)
    return [(f"{name}{number}", random.randrange(1, 6), random.randrange(1, 40)) for number, name in enumerate(names)]


def _rows(module: str) -> Shapes:
    return Shapes(module=module, name="list_row_cases", draw=_draw_rows)


SHAPES: Mapping[str, Shapes] = {
    "rms_norm": _rows("rms_norm"),
    **dict.fromkeys(("silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "swiglu_and_mul"), _rows("gates")),
    "quant_fp8": _rows("quant_fp8"),
    **dict.fromkeys(("quant_mxfp4", "quant_mxfp6", "quant_mxfp8"), _rows("mx")),
    "rope": Shapes(module="rope", name="_SHAPES", draw=_draw_rope),
    "moe_align": Shapes(module="moe_align", name="_SHAPES", draw=_draw_alignments),
    "topk_gating": Shapes(module="topk_gating", name="_SHAPES", draw=_draw_gating),
    "gemm": Shapes(module="gemm", name="PRODUCTS", draw=_draw_products, is_slow=True),
    "stream_k_gemm": Shapes(module="stream_k_gemm", name="PRODUCTS", draw=_draw_products, is_slow=True),
    "gemm_fp8": Shapes(module="gemm_fp8", name="_PRODUCTS", draw=_draw_products, is_slow=True),
    "gemm_mx": Shapes(module="gemm_mx", name="_PRODUCTS", draw=_draw_blocked_products, is_slow=True),
    "attention_prefill": Shapes(module="attention_prefill", name="BATCHES", draw=_draw_batches, is_slow=True),
    "paged_decode": Shapes(module="paged_decode", name="_CACHES", draw=_draw_caches, is_slow=True),
    "mla_decode": Shapes(module="mla_decode", name="_SHAPES", draw=_draw_latents, is_slow=True),
    "fused_moe": Shapes(module="fused_moe", name="SHAPES", draw=_draw_mixtures, is_slow=True),
    "fused_moe_narrow": Shapes(module="fused_moe_narrow", name="_SHAPES", draw=_draw_narrow_mixtures, is_slow=True),
}
"""By family: every family has its row."""


def replace_shapes(family: str, random: Random, count: int, replace: Replace) -> None:
    """Let the cases of `family` be of about `count` random shapes."""
    own = SHAPES[family]
    replace(f"cases.{own.module}", own.name, own.draw(random, count))
    if family == "stream_k_gemm":
        programs = {f"random{number}": random.randrange(1, 12) for number in range(count)}
        replace("cases.stream_k_gemm", "_PROGRAMS", programs)
    if own.module == "mx":
        replace("cases.mx", "NARROW_SHAPES", _draw_narrow_rows(random, count))
