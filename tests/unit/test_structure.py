"""The house itself: imports go one way, functions and files stay short, exit codes are unique, all of it documented."""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path

import pytest

from rockiln import errors
from rockiln.cli import make_parser
from rockiln.verbs.table import VERBS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"

FLOORS = (
    ("errors", "readers", "amounts", "artifact", "folders", "console", "record_rows", "image", "archs", "source_tree",
     "regular_files", "shape_faults", "layer_paths", "media_types"),
    (
        "disk", "scratch", "sealed", "jsonable", "built_values", "names", "tables", "manifest", "locked",
        "publish_policy",
    ),
    ("compress", "engines.protocol", "namespaces", "run_check", "fatbin", "stage_times"),
    (
        "rootfs", "slim_rules", "matrix", "own_distributions", "compatibility", "lock_file", "store", "contents",
        "sandbox", "chroot_sandbox", "kernel_data",
        "fatbin.slim_tree", "fatbin.walk", "fatbin.judge_files", "installed_lists",
    ),
    ("budget", "expected_findings", "recipe_file", "edit_matrix", "judge", "places", "unpack", "tar_stream", "engines"),
    ("recipe", "exploration", "slim", "strip_symbols", "slim_archs", "share_equal", "layers"),
    ("plan", "checks", "layer_source", "layer_blobs"),
    ("lock", "assemble", "smoke"),
    ("invocation", "bundle", "download", "image_files"),
    ("resolve", "image_config", "registry"),
    ("fetch", "relock", "write_image", "sizes", "audit"),
    ("build_key", "report", "sign", "sbom.layer_texts", "sbom.installed"),
    ("licences",),
    ("sbom", "attest"),
    ("verification", "cve"),
    ("pull", "publish", "registry_cache", "export", "simulate"),
    ("pipeline",),
    ("verbs",),
    ("cli",),
    ("__main__",),
)
"""Lowest first. A module may import from its own floor and from those below; packages stand for all they hold."""


def _modules() -> dict[str, Path]:
    names = {}
    for path in sorted((SOURCE / "rockiln").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


MODULES = _modules()
VAGUE = {"utils", "helpers", "common", "base", "manager", "misc", "util", "helper"}
SHIPPED = sorted(path for pattern in ("plugins/*/src", "compat/src", "tests/gfxemu/src") for path in ROOT.glob(pattern))
"""Source folders of the other distributions; each has its own order of modules, but no circle and no vague name."""


def _imports(name: str) -> set[str]:
    """Modules of rockiln that `name` imports, anywhere in its text."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {module for module in found if module in MODULES and module not in {"rockiln", name}}


def _floor(name: str) -> int:
    short = name.removeprefix("rockiln.")
    places = {entry: number for number, floor in enumerate(FLOORS) for entry in floor}
    while short not in places:
        if "." not in short:
            pytest.fail(f"{name} stands on no floor: add it to FLOORS")
        short = short.rpartition(".")[0]
    return places[short]


def test_no_module_imports_upward() -> None:
    upward = [
        f"{name} imports {other}"
        for name in MODULES
        if name != "rockiln"
        for other in sorted(_imports(name))
        if _floor(other) > _floor(name)
    ]
    assert not upward


def test_no_import_circle() -> None:
    graph = {name: _imports(name) for name in MODULES}
    while free := {name for name, imports in graph.items() if not imports & graph.keys()}:
        graph = {name: imports for name, imports in graph.items() if name not in free}
    assert not graph, f"in or behind a circle: {sorted(graph)}"


def _shipped_modules(source: Path) -> dict[str, Path]:
    return {
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(source.rglob("*.py"))
    }


def _shipped_imports(name: str, modules: dict[str, Path]) -> set[str]:
    """What `name` imports of its own distribution when it is imported; imports inside functions come later."""
    found = set()
    for node in ast.parse(modules[name].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            below = {f"{node.module}.{alias.name}" for alias in node.names} & modules.keys()
            found |= below or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {module for module in found if module in modules and module != name}


@pytest.mark.parametrize("source", SHIPPED, ids=lambda source: str(source.relative_to(ROOT)))
def test_no_import_circle_in_other_distributions(source: Path) -> None:
    modules = _shipped_modules(source)
    graph = {name: _shipped_imports(name, modules) for name in modules}
    while free := {name for name, imports in graph.items() if not imports & graph.keys()}:
        graph = {name: imports for name, imports in graph.items() if name not in free}
    assert not graph, f"in or behind a circle: {sorted(graph)}"


@pytest.mark.parametrize("source", SHIPPED, ids=lambda source: str(source.relative_to(ROOT)))
def test_other_distributions_have_no_vague_names(source: Path) -> None:
    assert not [name for name in _shipped_modules(source) if VAGUE & set(name.split("."))]


@pytest.mark.parametrize("source", SHIPPED, ids=lambda source: str(source.relative_to(ROOT)))
def test_builder_and_what_it_ships_never_import_each_other(source: Path) -> None:
    for path in source.rglob("*.py"):
        assert not re.search(r"^\s*(from|import) rockiln(\.| |$)", path.read_text(encoding="utf-8"), re.MULTILINE), path


def _python_files() -> list[Path]:
    folders = ("src", "tests", "images", "plugins", "compat")
    return [ROOT / "noxfile.py", *(path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))]


@pytest.mark.parametrize("path", _python_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > 40
    ]
    assert not long


@pytest.mark.parametrize("name", [name for name in MODULES if name != "rockiln.__main__"])
def test_module_says_what_it_is_for(name: str) -> None:
    docstring = ast.get_docstring(ast.parse(MODULES[name].read_text(encoding="utf-8")))
    assert docstring
    assert len(docstring.splitlines()[0]) > 20


def test_forbidden_names_are_absent() -> None:
    assert not [name for name in MODULES if VAGUE & set(name.split("."))]


def _error_classes() -> list[type[errors.RockilnError]]:
    members = vars(errors).values()
    return [item for item in members if isinstance(item, type) and issubclass(item, errors.RockilnError)]


def test_exit_codes_are_unique() -> None:
    codes = [error.exit_code for error in _error_classes()]
    assert len(codes) == len(set(codes))


def test_every_exit_code_is_documented() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    for error in _error_classes():
        assert re.search(rf"\| {error.exit_code} \| `{error.__name__}` \|", page), error.__name__


def _docs() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))


def _flags(parser: argparse.ArgumentParser) -> set[str]:
    actions = parser._actions
    shown = [action for action in actions if action.help != argparse.SUPPRESS]
    own = {flag for action in shown for flag in action.option_strings if flag.startswith("--")}
    nested = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    return own.union(*(_flags(sub) for action in nested for sub in action.choices.values()))


def test_every_verb_and_flag_is_documented() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    parser = make_parser()
    subparsers = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    assert set(subparsers.choices) == {verb.name for verb in VERBS}
    for name, sub in subparsers.choices.items():
        section = page.partition(f"## rockiln {name}\n")[2].partition("\n## ")[0]
        assert section, f"docs/commands.md has no section 'rockiln {name}'"
        missing = [flag for flag in sorted(_flags(sub) - {"--help"}) if f"`{flag}" not in section]
        assert not missing, f"rockiln {name}: {missing}"
    assert not [flag for flag in sorted(_flags(parser) - {"--help"}) if f"`{flag}" not in page and flag not in page]


def _toml_keys(*modules: str) -> set[str]:
    """Kebab-case string literals handed to a getter: `table.text("check-valid-until")`."""
    keys = set()
    for module in modules:
        for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    keys |= {first.value} if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", first.value) else set()
    return keys


@pytest.mark.parametrize(("module", "page"), [("rockiln.matrix", "matrix.md"), ("rockiln.recipe_file", "recipe.md")])
def test_every_toml_key_is_documented(module: str, page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    keys = _toml_keys(module)
    assert len(keys) > 8, "the getters were not found: did their calling form change?"
    assert not [key for key in sorted(keys) if f"`{key}`" not in text and f"[{key}" not in text]


def test_every_docs_page_is_linked_from_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not [path.name for path in sorted((ROOT / "docs").glob("*.md")) if f"docs/{path.name}" not in readme]


def test_links_between_pages_resolve() -> None:
    pages = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    links = [
        (page, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    ]
    assert not [f"{page.name}: {target}" for page, target in links if not (page.parent / target).exists()]
