"""The modules of specs/ and variants/ → the op table. A module is found by being there: no list to edit."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from rockiln_kernels import specs
from rockiln_kernels.spec import OpSpec

if TYPE_CHECKING:
    from rockiln_kernels.archs import Arch
    from rockiln_kernels.variant import Variant


def read_families() -> tuple[str, ...]:
    """Names of the modules in specs/, sorted: one a base op."""
    names = (name for folder in specs.__path__ for name in os.listdir(folder))  # noqa: PTH208  # pathlib is imported for nothing else
    return tuple(sorted(name.removesuffix(".py") for name in names if name.endswith(".py") and name[0] != "_"))


@lru_cache(maxsize=1)
def read_table() -> Mapping[str, OpSpec]:
    """Op name → spec, sorted by name. Raises ValueError if two modules define one op."""
    found: list[OpSpec] = [spec for family in read_families() for spec in _read_specs(family)]
    table = {spec.name: spec for spec in sorted(found, key=lambda spec: spec.name)}
    if len(table) != len(found):
        raise ValueError("two specs have one name")
    return table


@lru_cache(maxsize=1)
def read_origins() -> Mapping[str, str]:
    """Op name → the module in specs/ (and references/, variants/, tiles/, wanted/) that it comes from."""
    return {spec.name: family for family in read_families() for spec in _read_specs(family)}


def make_family_variants(family: str, arch: Arch) -> tuple[Variant, ...]:
    """What variants/FAMILY.py makes for `arch`."""
    make_variants: Callable[[Arch], tuple[Variant, ...]] = import_module(
        f"rockiln_kernels.variants.{family}"
    ).make_variants
    return make_variants(arch)


def make_arch_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of every op for `arch`, in the order of the modules' names. Raises ValueError for a double key."""
    variants = tuple(variant for family in read_families() for variant in make_family_variants(family, arch))
    keys = [variant.key for variant in variants]
    if doubles := sorted({key for key in keys if keys.count(key) > 1}):
        raise ValueError(f"two variants are called {doubles[0]}")
    return variants


def _read_specs(family: str) -> tuple[OpSpec, ...]:
    found: tuple[OpSpec, ...] = import_module(f"rockiln_kernels.specs.{family}").SPECS
    return found
