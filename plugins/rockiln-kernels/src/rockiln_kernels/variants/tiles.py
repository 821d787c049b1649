"""tiles/OP.toml + arch → the tiles of a matrix op with their alignment, its grid, and which tile a call prefers."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.tile_table import Tile, read_tiles


def tile_grid(columns: str) -> tuple[str, str, str]:
    """One program a tile of an output [M, columns]."""
    return (f"cdiv(M, BLOCK_M) * cdiv({columns}, BLOCK_N)", "1", "1")


def read_aligned_tiles(family: str, arch: Arch, use: str, cell: str) -> Iterator[tuple[Tile, bool]]:
    """Tiles of `use` for aligned calls (with wide loads), then those of use-any, which take every call."""
    for tile in read_tiles(family, arch, use=use, cell=cell):
        yield tile, True
    for tile in read_tiles(family, arch, use=f"{use}-any", cell=cell):
        yield tile, False


def rank_tile(tile: Tile, rows: str, columns: str, *, is_aligned: bool) -> str:
    """A formula that grows with the time of a call: padded work, and what each tile must load; narrow loads cost twice.

    A stand-in until there are timings: it only has to order tiles of one call.
    """
    m, n = tile.sizes["BLOCK_M"], tile.sizes["BLOCK_N"]
    cost = (m * n + 64 * (m + n)) * (1 if is_aligned else 2)
    return f"cdiv({rows}, {m}) * cdiv({columns}, {n}) * {cost}"
