"""names.tsv → every function and number of NVML's documented interface, by name."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def read_names() -> tuple[tuple[str, ...], dict[str, int]]:
    """(functions, constants), from the table that lies beside this module."""
    functions: list[str] = []
    constants: dict[str, int] = {}
    for line in files(__package__).joinpath("names.tsv").read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        name, tab, number = line.partition("\t")
        if tab:
            constants[name] = int(number)
        else:
            functions.append(name)
    return tuple(functions), constants
