"""signatures.json → a package called aiter in a folder: functions with AITER's own signatures, on references.py.

It is a fake: what it proves is names, order, defaults, who writes into what, and that results go where they belong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

HEAD = """import torch
from fake_aiter.references import ActivationType, GateMode, QuantType, call, dtypes

"""
MODULES = ("module_activation", "module_gemm_a8w8", "module_gemm_a8w8_blockscale", "module_moe_asm", "module_quant",
           "module_rmsnorm", "module_rmsnorm_quant")  # fmt: skip
OLD, NEW = 0, 1


@lru_cache(maxsize=1)
def read_commits() -> tuple[dict[str, Any], ...]:
    """Commit, what it is, functions; the older first."""
    return tuple(json.loads(Path(__file__).with_name("signatures.json").read_text()))


def read_functions(number: int) -> Mapping[str, dict[str, Any]]:
    """Name → module, parameters, JIT module, at commit OLD or NEW."""
    return {function["name"]: function for function in read_commits()[number]["functions"]}


def write_package(folder: Path, number: int, modules: tuple[str, ...] = MODULES) -> Path:
    """The package in `folder`, with `modules` as if they were built; its own folder."""
    texts: dict[str, list[str]] = {}
    for function in read_functions(number).values():
        texts.setdefault(function["module"], [HEAD]).append(_write_function(function))
    package = folder / "aiter"
    (package / "jit").mkdir(parents=True)
    for module, parts in texts.items():
        name = module.partition(".")[2] or "__init__"
        (package / f"{name}.py").write_text("\n".join(parts))
    for name in modules:
        (package / "jit" / f"{name}.so").write_bytes(b"")
    return package


def _write_function(function: Mapping[str, Any]) -> str:
    parameters = ", ".join("=".join(parameter) for parameter in function["parameters"])
    return f"def {function['name']}({parameters}):\n    return call({function['name']!r}, dict(locals()))\n"
