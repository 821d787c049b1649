"""tuning.toml + a call's dims → the variant that is known to be the fastest. Read-only; docs/selection.md."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from rockiln_kernels.expressions import Value

VERSION = 1
TABLE = Path(__file__).with_name("tuning.toml")
Key = tuple[str, str, str]
Entry = tuple[Mapping[str, int], str]


@lru_cache(maxsize=4)
def read_tuning(path: Path = TABLE) -> Mapping[Key, tuple[Entry, ...]]:
    """(op, arch, cell) → dims and variant, in the file's order. Raises ValueError for another version."""
    import tomllib  # most ops have no row, and need no parser

    tables = tomllib.loads(_read_text(path))
    if tables.get("version") != VERSION:
        raise ValueError(f"{path}: version {tables.get('version')}, not {VERSION}")
    result: dict[Key, list[Entry]] = {}
    for row in tables.get("best", []):
        entry = ({str(name): int(size) for name, size in row["dims"].items()}, str(row["variant"]))
        result.setdefault((row["op"], row["arch"], row["cell"]), []).append(entry)
    return {key: tuple(entries) for key, entries in result.items()}


@lru_cache(maxsize=4)
def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def find_preferred(op: str, arch: str, cell: str, names: Mapping[str, Value], path: Path = TABLE) -> str:
    """The variant's name; empty where the table has no row with exactly these dims."""
    if f'op = "{op}"' not in _read_text(path):
        return ""
    for dims, variant in read_tuning(path).get((op, arch, cell), ()):
        if all(names.get(name) == size for name, size in dims.items()):
            return variant
    return ""
