"""A family of ops → the files that its kernels, references, cases and their judge are made of, and their hash."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import rockiln_kernels
from rockiln_kernels.table import read_origins

PACKAGE = Path(rockiln_kernels.__file__).parent
TESTS = Path(__file__).parents[1]
_PARTS = ("specs", "references", "ops", "variants")
_RULE = ("tolerance", "compare")
"""What of the harness decides whether an output is right."""
DERIVED: Mapping[str, tuple[str, ...]] = {
    "derived_attention": ("attention_", "paged_", "mla_"),
    "derived_brink": ("_and_mul", "rms_norm"),
    "derived_experts": ("fused_moe",),
    "derived_products": ("gemm", "fused_moe"),
    "derived_specials": ("attention_", "paged_", "mla_", "fused_moe", "gemm_fp8", "gemm_mx"),
}
"""What derived.py or judge.py calls, and words in the names of the ops that it makes cases for, or shows others how."""


@lru_cache(maxsize=512)
def read_imports(path: Path) -> frozenset[Path]:
    """Files of the package and of tests/cases that a module imports by name."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            found |= {file for name in names if (file := _find_file(name))}
    return frozenset(found)


def _find_file(module: str) -> Path | None:
    top, _, rest = module.partition(".")
    folder = {"rockiln_kernels": PACKAGE, "cases": TESTS / "cases"}.get(top)
    path = folder / f"{rest.replace('.', '/')}.py" if folder and rest else None
    return path if path and path.is_file() else None


def list_inputs(family: str) -> tuple[Path, ...]:
    """Every file by its folder's name and its own: modules, wishes, the tile tables that variants name, the rule."""
    pending = [PACKAGE / part / f"{family}.py" for part in _PARTS] + [TESTS / "cases" / f"{family}.py"]
    seen: set[Path] = set()
    while pending:
        path = pending.pop()
        if path not in seen:
            seen.add(path)
            pending += read_imports(path)
    tables = {path.stem: path for path in (PACKAGE / "tiles").glob("*.toml")}
    words = {word for path in seen if path.parent.name == "variants" for word in _read_texts(path)}
    seen |= {PACKAGE / "wanted" / f"{family}.toml", *(tables[word] for word in words & tables.keys())}
    seen |= {TESTS / "harness" / f"{name}.py" for name in _RULE}
    return tuple(sorted(seen, key=lambda path: (path.parent.name, path.name)))


def _read_texts(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def hash_inputs(family: str) -> str:
    """sha256 over the names and contents of list_inputs; of the emulator a record holds a hash of its own."""
    digest = hashlib.sha256()
    for path in list_inputs(family):
        digest.update(f"{path.parent.name}/{path.name}".encode() + b"\0" + _read_without_refusals(path) + b"\0")
    return digest.hexdigest()


def _read_without_refusals(path: Path) -> bytes:
    """A file, but for what its exceptions are given: no run of a kernel depends on the words of a refusal."""
    content = path.read_bytes()
    if path.suffix != ".py":
        return content
    lines = content.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    raised = [node.exc for node in ast.walk(ast.parse(content)) if isinstance(node, ast.Raise)]
    cuts = [
        (starts[(item.func.end_lineno or 1) - 1] + (item.func.end_col_offset or 0),
         starts[(item.end_lineno or 1) - 1] + (item.end_col_offset or 0))
        for item in raised if isinstance(item, ast.Call)
    ]  # fmt: skip
    for first, end in sorted(cuts, reverse=True):
        content = content[:first] + content[end:]
    return content


def list_derived(family: str) -> tuple[Path, ...]:
    """The modules that make further cases of a family's own."""
    ops = [op for op, origin in read_origins().items() if origin == family]
    parts = [name for name, words in DERIVED.items() if any(word in op for op in ops for word in words)]
    return tuple(TESTS / "harness" / f"{name}.py" for name in ("derived", *parts))


def hash_derived(family: str) -> str:
    """sha256 over those modules: a record names it, and may be older."""
    digest = hashlib.sha256()
    for path in list_derived(family):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
