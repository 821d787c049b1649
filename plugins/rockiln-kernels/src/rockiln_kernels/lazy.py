"""A package and its modules' names → its __getattr__ and __dir__: a module is imported when a name is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def make_lazy(
    package: str, places: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`places`: module within the package → names. See PEP 562. The function raises AttributeError for other names."""
    modules = {name: module for module, names in places.items() for name in names}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return find, list_names
