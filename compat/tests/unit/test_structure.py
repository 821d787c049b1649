"""The house itself: imports go one way, exit codes are unique, verbs and flags are documented."""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path

import pytest

from hipcompat import errors
from hipcompat.cli import make_parser
from hipcompat.verbs.table import VERBS

SOURCE = Path(__file__).parents[2] / "src"
PAGE = SOURCE.parents[1] / "docs" / "compat.md"

FLOORS = (
    ("errors", "console", "whole_file"),
    ("paths",),
    ("answer", "archs"),
    ("facts", "flags"),
    ("scan",),
    ("translate",),
    ("check", "torch_extension"),
    ("setuptools_extension",),
    ("doctor",),
    ("runtime",),
    ("verbs",),
    ("cli",),
    ("__main__",),
)
"""Lowest first. A module may import from its own floor and from those below; packages stand for all they hold."""


def _modules() -> dict[str, Path]:
    names = {}
    for path in sorted((SOURCE / "hipcompat").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


MODULES = _modules()


def _imports(name: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {module for module in found if module in MODULES and module not in {"hipcompat", name}}


def _floor(name: str) -> int:
    short = name.removeprefix("hipcompat.").partition(".")[0]
    for number, floor in enumerate(FLOORS):
        if short in floor:
            return number
    pytest.fail(f"{name} stands on no floor: add it to FLOORS")


def test_no_module_imports_upward() -> None:
    pairs = [(name, other) for name in MODULES if name != "hipcompat" for other in sorted(_imports(name))]
    assert not [pair for pair in pairs if _floor(pair[1]) > _floor(pair[0])]


def test_no_import_circle() -> None:
    # A package's __init__ shows what its modules offer: they import from each other, never from it.
    packages = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    graph = {name: _imports(name) - {name.rpartition(".")[0]} for name in MODULES if name not in packages}
    while free := {name for name, imports in graph.items() if not imports & graph.keys()}:
        graph = {name: imports for name, imports in graph.items() if name not in free}
    assert not graph, f"in or behind a circle: {sorted(graph)}"


@pytest.mark.parametrize("name", [name for name in MODULES if name != "hipcompat.__main__"])
def test_module_says_what_it_is_for(name: str) -> None:
    docstring = ast.get_docstring(ast.parse(MODULES[name].read_text(encoding="utf-8"))) or ""
    assert "→" in docstring


def _error_classes() -> list[type[errors.CompatError]]:
    return [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, errors.CompatError)]


def test_exit_codes_are_unique_and_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    codes = [error.exit_code for error in _error_classes()]
    assert len(codes) == len(set(codes))
    for error in _error_classes():
        assert re.search(rf"\| {error.exit_code} \| `{error.__name__}` \|", page), error.__name__


def test_every_verb_and_flag_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    subparsers = next(item for item in make_parser()._actions if isinstance(item, argparse._SubParsersAction))
    assert list(subparsers.choices) == [verb.name for verb in VERBS]
    for name, sub in subparsers.choices.items():
        section = page.partition(f"## hipcompat {name}\n")[2].partition("\n## ")[0]
        assert section, f"docs/compat.md has no section 'hipcompat {name}'"
        flags = {flag for action in sub._actions for flag in action.option_strings if flag.startswith("--")}
        missing = [flag for flag in sorted(flags - {"--help", "--debug"}) if f"`{flag}" not in section]
        assert not missing, f"hipcompat {name}: {missing}"
