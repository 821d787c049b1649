"""fused_moe → cases."""

from __future__ import annotations

import numpy as np

from harness.case import Array, Case, draw, make_generator, stride_rows
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.references.gemm import split_pair
from rockiln_kernels.spec import OpSpec

GPT_OSS = {"interleaved": True, "alpha": 1.702, "limit": 7.0, "up_offset": 1.0}
SHAPES = (
    ("aligned", 20, 2, 4, 48, 80),
    ("ragged", 7, 3, 5, 19, 37),
    ("tiny", 1, 1, 1, 1, 1),
    ("outside", 5, 2, 3, 16, 32),
    ("special", 4, 2, 3, 16, 32),
)
"""name, tokens, choices, experts, half of gate_up's rows, width of x."""


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Plain SwiGLU in halves, and gpt-oss's gate with biases; ids that are no expert's; NaN and infinity in x."""
    return [_make_case(spec, cell, *shape) for shape in SHAPES]


def draw_routes(generator: np.random.Generator, name: str, tokens: int, top: int, experts: int) -> dict[str, Array]:
    """weights and ids, each token at distinct experts."""
    ids = np.argsort(generator.random((tokens, max(top, experts))), axis=1)[:, :top].astype(np.int32)
    if name == "outside":
        ids[0, 1], ids[2, 0], ids[4] = -1, experts, (7, -5)
    return {"weights": generator.random((tokens, top)).astype(np.float32), "ids": ids}


def _make_case(spec: OpSpec, cell: str, name: str, *sizes: int) -> Case:
    tokens, top, experts, half, width = sizes
    generator = make_generator(spec.name, cell, name)
    arrays: dict[str, Array] = {
        "x": draw(generator, (tokens, width), cell),
        "gate_up": draw(generator, (experts, 2 * half, width), cell, size=width**-0.5),
        "down": draw(generator, (experts, width, half), cell, size=half**-0.5),
        **draw_routes(generator, name, tokens, top, experts),
    }
    if name in {"ragged", "outside"}:
        arrays |= {"gate_up_bias": draw(generator, (experts, 2 * half), cell)}
        arrays |= {"down_bias": draw(generator, (experts, width), cell)}
    if name == "ragged":
        arrays["x"] = stride_rows(arrays["x"], 5)
    if name == "special":
        arrays["x"][1, 3], arrays["x"][2, 0] = np.nan, np.inf
    scalars = GPT_OSS if name in {"ragged", "outside"} else {}
    widths = {key: arrays[key].astype(np.float64) for key in ("gate_up", "down")}
    return Case(
        name=name,
        arrays=arrays,
        scalars=scalars,
        terms=width + half,
        magnitudes={"out": measure_mixture(arrays, dict(scalars), cell, **widths)},
        is_misaligned=name in {"ragged", "tiny"},
    )


def measure_mixture(
    arrays: dict[str, Array], scalars: dict[str, float], dtype: str, *, gate_up: Array, down: Array
) -> Array:
    """Magnitudes of out. h is rounded to x's type, from a value that is a few steps of f32 off: by one step at most."""
    x = np.abs(arrays["x"].astype(np.float64))
    out = np.zeros(x.shape)
    own = 2.0**-24 * (16.0 + 4.0 * np.sqrt(gate_up.shape[2] + down.shape[2]))
    step = 2.0 ** -DTYPES[dtype].mantissa_bits / own
    bias = {key: np.abs(arrays[key].astype(np.float64)) for key in ("gate_up_bias", "down_bias") if key in arrays}
    for token, row in enumerate(arrays["ids"].tolist()):
        for choice, expert in enumerate(row):
            if 0 <= expert < len(gate_up):
                with np.errstate(all="ignore"):
                    summed = np.abs(gate_up[expert]) @ x[token] + bias.get("gate_up_bias", [0.0] * (expert + 1))[expert]
                    gate, up = split_pair(summed, is_interleaved=bool(scalars.get("interleaved", False)))
                    hidden = gate * (up + 1.0) * 2.0
                    part = np.abs(down[expert]) @ hidden + bias.get("down_bias", [0.0] * (expert + 1))[expert]
                    out[token] += part * (step + 3.0) * arrays["weights"][token, choice]
    return out
