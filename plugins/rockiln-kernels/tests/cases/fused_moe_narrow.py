"""fused_moe_mxfp4 and fused_moe_fp8 → cases."""

from __future__ import annotations

import numpy as np

from cases.fused_moe import GPT_OSS, draw_routes, measure_mixture
from harness.case import Array, Case, draw, make_generator, stride_rows
from rockiln_kernels.references.fused_moe_narrow import widen_experts
from rockiln_kernels.spec import OpSpec

_SHAPES = (
    ("aligned", 20, 2, 4, 64, 160),
    ("gpt-oss", 5, 3, 5, 96, 64),
    ("tiny", 1, 1, 1, 32, 32),
    ("outside", 5, 2, 3, 160, 32),
    ("experts", 40, 2, 30, 32, 32),
    ("wide", 5, 2, 3, 288, 160),
    ("long", 3, 2, 2, 32, 1056),
)
"""name, tokens, choices, experts, half of gate_up's rows, width of x."""


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """SwiGLU in halves, and gpt-oss's gate with biases; ids that are no expert's; odd widths where fp8 allows them."""
    shapes = [*_SHAPES, ("ragged", 6, 2, 3, 19, 37)] if spec.name == "fused_moe_fp8" else _SHAPES
    return [_make_case(spec, cell, *shape) for shape in shapes]


def _draw_weights(
    generator: np.random.Generator, spec: OpSpec, cell: str, name: str, shape: tuple[int, int, int]
) -> dict[str, Array]:
    experts, rows, columns = shape
    if spec.name == "fused_moe_mxfp4":
        codes = generator.integers(0, 256, (experts, rows, columns // 2)).astype(np.uint8)
        scale = generator.integers(122, 126, (experts, rows, columns // 32)).astype(np.uint8)
        return {name: codes, f"{name}_scale": scale}
    blocks = (experts, -(-rows // 128), -(-columns // 128))
    scale = generator.uniform(0.5, 1.5, blocks).astype(np.float32)
    return {name: draw(generator, shape, spec.cell_dtypes(cell)["Q"], size=0.25), f"{name}_scale": scale}


def _make_case(spec: OpSpec, cell: str, name: str, *sizes: int) -> Case:
    tokens, top, experts, half, width = sizes
    generator = make_generator(spec.name, cell, name)
    arrays = {
        "x": draw(generator, (tokens, width), "bf16"),
        **_draw_weights(generator, spec, cell, "gate_up", (experts, 2 * half, width)),
        **_draw_weights(generator, spec, cell, "down", (experts, width, half)),
        **draw_routes(generator, name, tokens, top, experts),
    }
    is_gpt_oss = name in {"gpt-oss", "ragged"}
    if is_gpt_oss:
        arrays |= {"gate_up_bias": draw(generator, (experts, 2 * half), "bf16")}
        arrays |= {"down_bias": draw(generator, (experts, width), "bf16")}
    if name == "ragged":
        arrays["x"] = stride_rows(arrays["x"], 3)
    scalars = GPT_OSS if is_gpt_oss else {}
    widths = {key: widen_experts(arrays, key) for key in ("gate_up", "down")}
    return Case(
        name=name,
        arrays=arrays,
        scalars=scalars,
        terms=width + half,
        magnitudes={"out": measure_mixture(arrays, dict(scalars), "bf16", **widths)},
        is_misaligned=name in {"ragged", "tiny"},
    )
