"""fused_moe → cases."""

from __future__ import annotations

import numpy as np

from harness.case import Array, Case, draw, make_generator, stride_rows
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.references.fused_moe import gate_pair
from rockiln_kernels.references.gemm import split_pair
from rockiln_kernels.spec import OpSpec

GPT_OSS = {"interleaved": True, "alpha": 1.702, "limit": 7.0, "up_offset": 1.0}
SHAPES = (
    ("aligned", 20, 2, 4, 48, 80),
    ("ragged", 7, 3, 5, 19, 37),
    ("tiny", 1, 1, 1, 1, 1),
    ("outside", 5, 2, 3, 16, 32),
    ("special", 4, 2, 3, 16, 32),
    ("experts", 40, 2, 30, 16, 32),
    ("wide", 5, 2, 3, 288, 160),
    ("long", 3, 2, 2, 16, 1056),
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
    """Magnitudes of out. h, a few steps of f32 off, may be rounded to x's type one step beside the reference's."""
    x = arrays["x"].astype(np.float64)
    out = np.zeros(x.shape)
    own = 2.0**-24 * (16.0 + 4.0 * np.sqrt(gate_up.shape[2] + down.shape[2]))
    step = 2.0 ** -DTYPES[dtype].mantissa_bits / own
    rules = {"interleaved": False, "alpha": 1.0, "limit": 0.0, "up_offset": 0.0} | scalars
    zero = np.zeros((len(gate_up), max(gate_up.shape[1], down.shape[1])))
    bias = [arrays.get(key, zero)[:, : len(rows[0])].astype(np.float64) for key, rows in _pair_biases(gate_up, down)]
    for token, row in enumerate(arrays["ids"].tolist()):
        for choice, expert in enumerate(row):
            if 0 <= expert < len(gate_up):
                with np.errstate(all="ignore"):
                    summed = np.abs(gate_up[expert]) @ np.abs(x[token]) + np.abs(bias[0][expert])
                    gate, up = split_pair(summed, is_interleaved=bool(rules["interleaved"]))
                    hidden = np.abs(gate_pair(gate_up[expert] @ x[token] + bias[0][expert], rules))
                    part = np.abs(down[expert]) @ (4.0 * gate * (up + 1.0) + (step + 1.0) * hidden)
                    out[token] += (part + np.abs(bias[1][expert])) * arrays["weights"][token, choice]
    return out


def _pair_biases(gate_up: Array, down: Array) -> tuple[tuple[str, Array], tuple[str, Array]]:
    """Names of the biases, and what is as long as they are."""
    return ("gate_up_bias", gate_up[:, :, 0]), ("down_bias", down[:, :, 0])
