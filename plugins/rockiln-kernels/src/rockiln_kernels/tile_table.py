"""tiles/NAME.toml + arch → the tiles to compile, in order of preference."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from rockiln_kernels.archs import Arch


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One row: `sizes` are the kernel's own block constants (BLOCK, BM ...), the rest the compiler's options."""

    name: str
    use: str
    """What the op's variants module picks it by: "prefill", "decode"; empty where there is one use."""
    dtypes: tuple[str, ...]
    """Cells it is for; empty means all."""
    sizes: Mapping[str, int]
    warps: int
    stages: int
    waves_per_eu: int
    matrix_instr_nonkdim: int


_OPTIONS = {"warps": 4, "stages": 1, "waves-per-eu": 0, "matrix-instr-nonkdim": 0}
_KEYS = {"name", "use", "archs", "dtypes", "sizes", *_OPTIONS}


@lru_cache(maxsize=256)
def _read_rows(op: str) -> tuple[dict[str, object], ...]:
    text = resources.files("rockiln_kernels.tiles").joinpath(f"{op}.toml").read_text(encoding="utf-8")
    rows = tuple(tomllib.loads(text)["tile"])
    for row in rows:
        if unknown := sorted(set(row) - _KEYS):
            raise ValueError(f"tiles/{op}.toml: unknown key {unknown[0]!r} in {row.get('name')!r}")
    return rows


def read_tiles(op: str, arch: Arch, *, use: str = "", cell: str = "") -> tuple[Tile, ...]:
    """The rows of tiles/OP.toml for `arch` ("*" is every arch), `use` and `cell`, in the file's order."""
    tiles = (_make_tile(row) for row in _read_rows(op) if {"*", arch.name} & set(_texts(row, "archs")))
    return tuple(tile for tile in tiles if tile.use == use and (not tile.dtypes or not cell or cell in tile.dtypes))


def _texts(row: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = row.get(key, [])
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _make_tile(row: Mapping[str, object]) -> Tile:
    sizes = row.get("sizes")
    numbers = {key: row.get(key, default) for key, default in _OPTIONS.items()}
    ints = {key: value for key, value in numbers.items() if isinstance(value, int)}
    return Tile(
        name=str(row["name"]),
        use=str(row.get("use", "")),
        dtypes=_texts(row, "dtypes"),
        sizes={str(key): int(value) for key, value in sizes.items()} if isinstance(sizes, dict) else {},
        warps=ints["warps"],
        stages=ints["stages"],
        waves_per_eu=ints["waves-per-eu"],
        matrix_instr_nonkdim=ints["matrix-instr-nonkdim"],
    )
