"""shapes.toml + the tile tables → tuning.toml: `python -m rockiln_kernels.selection.make_tuning`. Run offline, by hand.

A matrix op's tiles are ranked by their padded work; what a rank cannot say is how many of a GPU's compute units a call
fills. Here a call takes as long as its fullest unit: rounds of tiles over the units, times the work of one. Where
another variant wins by a tenth or more, there is a row. Modelled, not timed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from itertools import product

from rockiln_kernels.archs import ARCHS
from rockiln_kernels.expressions import evaluate_expression
from rockiln_kernels.selection.tuning import TABLE, VERSION
from rockiln_kernels.table import make_family_variants
from rockiln_kernels.variant import Variant

COMPUTE_UNITS = {
    "gfx90a": 104, "gfx942": 304, "gfx950": 256, "gfx1100": 96, "gfx1101": 60, "gfx1200": 32, "gfx1201": 64,
}  # fmt: skip
"""Of the largest product but gfx90a, where it is the smallest: AMD's product pages."""
OPS = ("gemm",)
CELLS = ("bf16",)
ROWS = (1, 16, 64, 256, 1024, 4096)
_GAIN = 0.9
_HEAD = """\
# Variants that are best for exact dims, before ranks. Read by selection/tuning.py, never written at run time.
# Made by selection/make_tuning.py: modelled from tiles, compute units and the shapes of shapes.toml. Nothing is timed.
"""


def read_widths() -> tuple[int, ...]:
    """Widths of the outputs of the models' projections."""
    text = resources.files("rockiln_kernels").joinpath("shapes.toml").read_text(encoding="utf-8")
    widths: set[int] = set()
    for model in tomllib.loads(text)["model"]:
        heads = (model["heads"] + 2 * model["kv-heads"]) * model["head-dim"]
        widths |= {model["hidden"], heads, 2 * model.get("intermediate", 0)}
    return tuple(sorted(widths - {0}))


def make_rows() -> Iterator[str]:
    """A line of TOML for each call whose best variant is not the one of the smallest rank."""
    for arch, op, cell in product(COMPUTE_UNITS, OPS, CELLS):
        variants = make_family_variants("gemm", ARCHS[arch])
        fitting = [item for item in variants if (item.op, item.cell) == (op, cell) and "aligned" in item.name]
        for m, n in product(ROWS, read_widths()):
            if best := _find_better(fitting, {"M": m, "N": n, "K": 4096}, arch):
                key = f'op = "{op}", arch = "{arch}", cell = "{cell}"'
                yield f'{{ {key}, variant = "{best}", dims = {{ M = {m}, N = {n} }} }},'


def _find_better(fitting: Sequence[Variant], names: Mapping[str, int], arch: str) -> str:
    """The variant that is faster by a tenth than the one of the smallest rank; empty if none is."""
    ranked = min(fitting, key=lambda item: evaluate_expression(item.rank, names))
    best = min(fitting, key=lambda item: _model_time(item, names, arch))
    return best.name if _model_time(best, names, arch) < _GAIN * _model_time(ranked, names, arch) else ""


def _model_time(variant: Variant, names: Mapping[str, int], arch: str) -> float:
    [launch] = variant.launches
    constants = {key: value for key, value in launch.kernel.constants if not isinstance(value, str)}
    tiles = evaluate_expression(launch.grid[0], {**names, **constants})
    work = evaluate_expression(variant.rank, names) / tiles
    return -(-tiles // COMPUTE_UNITS[arch]) * work


def make_table() -> str:
    """The text of tuning.toml."""
    return "\n".join([f"{_HEAD}version = {VERSION}\nbest = [", *make_rows(), "]", ""])


if __name__ == "__main__":
    TABLE.write_text(make_table(), encoding="utf-8")
