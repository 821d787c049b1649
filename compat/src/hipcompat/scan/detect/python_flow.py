"""Tree of a Python file → what its names stand for: imports under other names, and values that come from CUDA's."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hipcompat.scan.regions import is_inside, merge_ranges

VERSION = "torch.version.cuda"
_CAPABILITY = re.compile(r"(?:\w+\.)*(?:get_device_capability|compute_capability|_get_cuda_arch_flags)$")
_NEEDS_TEXT = re.compile(r"(?:int|float|len|list|tuple|map|Version|LooseVersion|StrictVersion|parse|parse_version)$")
"""Functions that raise for None."""
_ASKS = re.compile(r"version\.(?:cuda|hip)\b|\b(?:is_?)?(?:hip|rocm)\b|_(?:hip|rocm)\b|\b(?:hip|rocm)_", re.IGNORECASE)
_CAUGHT = re.compile(r"\b(?:Attribute|Type)Error\b|\bException\b")
_LINE = 1 << 32
"""Places in a tree as one number: line and column."""
_FAR = _LINE * _LINE
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_ROUNDS = 3
"""How often values are followed through names: x = capability(); y = x[0]; def f(): return y."""


@dataclass(frozen=True, slots=True)
class VersionUse:
    """A place that reads torch.version.cuda. `raises`: what raises for None there, and nothing asks before."""

    node: ast.expr
    raises: str


def find_aliases(tree: ast.AST) -> dict[str, str]:
    """Names that imports bind, with what they stand for: th → torch, version → torch.version."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            aliases |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return aliases


def resolve(name: str, aliases: dict[str, str]) -> str:
    """A dotted name, by what its first part stands for."""
    first, dot, rest = name.partition(".")
    return f"{aliases[first]}{dot}{rest}" if first in aliases else name


def join_dotted(node: ast.expr) -> str:
    """a.b.c; nothing where it does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""


def find_capability_compares(tree: ast.AST) -> Iterator[ast.Compare]:
    """Comparisons of a value that came from a call for the compute capability, through names of its function."""
    functions: set[str] = set()
    scopes = [*_split_scopes(tree)]
    known: list[set[str]] = [set() for _ in scopes]
    for _ in range(_ROUNDS):
        before = len(functions) + sum(map(len, known))
        for (head, nodes), names in zip(scopes, known, strict=True):
            outer = names | known[0]
            names.update(_find_assigned(nodes, outer | functions))
            if isinstance(head, ast.FunctionDef) and any(
                isinstance(node, ast.Return) and _comes_from(node.value, outer | names | functions) for node in nodes
            ):
                functions.add(head.name)
        if len(functions) + sum(map(len, known)) == before:
            break
    for (_, nodes), names in zip(scopes, known, strict=True):
        values = names | known[0] | functions
        yield from (node for node in nodes if isinstance(node, ast.Compare) and _compares(node, values))


def _split_scopes(tree: ast.AST) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """The module, then each function: its nodes without those of the functions inside."""
    waiting = [tree]
    while waiting:
        head = waiting.pop(0)
        nodes: list[ast.AST] = []
        inner = [*ast.iter_child_nodes(head)]
        while inner:
            node = inner.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                waiting.append(node)
                continue
            nodes.append(node)
            inner += ast.iter_child_nodes(node)
        yield head, nodes


def _find_assigned(nodes: Iterable[ast.AST], values: set[str]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and _comes_from(node.value, values):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
                yield from (part.id for part in parts if isinstance(part, ast.Name))


def _comes_from(value: ast.expr | None, values: set[str]) -> bool:
    """The call itself, a name that holds it, a part of it, or a sum with it; not what a function makes of it."""
    if isinstance(value, ast.Call):
        name = join_dotted(value.func)
        is_same = name in {"int", "float", "tuple"} and bool(value.args) and _comes_from(value.args[0], values)
        return is_same or name in values or _CAPABILITY.match(name) is not None
    if isinstance(value, ast.Name):
        return value.id in values
    if isinstance(value, ast.Subscript | ast.Attribute):
        return _comes_from(value.value, values)
    if isinstance(value, ast.BinOp):
        return _comes_from(value.left, values) or _comes_from(value.right, values)
    return False


def _compares(node: ast.Compare, values: set[str]) -> bool:
    """One of the sides is such a value, or a tuple with one."""
    sides = (node.left, *node.comparators)
    parts = [part for side in sides for part in (side.elts if isinstance(side, ast.Tuple) else [side])]
    return any(_comes_from(part, values) for part in parts)


def find_version_uses(tree: ast.AST, aliases: dict[str, str]) -> Iterator[VersionUse]:
    """Each place that reads it, by itself, under another name, or through a variable."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    held = _find_held(tree, aliases)
    guarded = merge_ranges(list(_find_guarded(tree, parents, held)))
    for node in ast.walk(tree):
        is_held = isinstance(node, ast.Name) and node.id in held and isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.expr) and (is_held or _is_version(node, aliases)):
            raises = _find_fault(node, parents.get(node))
            if is_inside(guarded, _begin(node)):
                raises = ""
            if raises or not is_held:
                yield VersionUse(node, raises)


def _find_held(tree: ast.AST, aliases: dict[str, str]) -> set[str]:
    """Variables that hold it and never anything else."""
    values: Counter[str] = Counter()
    stores: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_version(node.value, aliases):
            values[node.targets[0].id] += 1
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores[node.id] += 1
        elif isinstance(node, ast.arg):
            stores[node.arg] += 1
    return {name for name, count in values.items() if stores[name] == count}


def _is_version(node: ast.expr, aliases: dict[str, str]) -> bool:
    if isinstance(node, ast.Call) and join_dotted(node.func) == "getattr" and len(node.args) > 1:
        asked = isinstance(node.args[1], ast.Constant) and node.args[1].value == "cuda"
        return asked and f"{resolve(join_dotted(node.args[0]), aliases)}.cuda" == VERSION
    if isinstance(node, ast.Attribute) and node.attr != "cuda":
        return False
    return isinstance(node, ast.Attribute | ast.Name) and resolve(join_dotted(node), aliases) == VERSION


def _find_fault(node: ast.expr, parent: ast.AST | None) -> str:
    """What the surroundings do that None does not take; nothing where they only ask, or print it."""
    fault = ""
    if isinstance(parent, ast.Attribute):
        fault = f".{parent.attr}"
    elif isinstance(parent, ast.Subscript) and parent.value is node:
        fault = "[...]"
    elif isinstance(parent, ast.Call) and node in parent.args:
        name = join_dotted(parent.func).rpartition(".")[2]
        fault = f"{name}()" if _NEEDS_TEXT.match(name) else ""
    elif isinstance(parent, ast.BinOp) and not (isinstance(parent.op, ast.Mod) and parent.right is node):
        fault = "an operator"
    elif isinstance(parent, ast.Compare) and _is_ordered(parent, node):
        fault = "a comparison"
    elif isinstance(parent, ast.FormattedValue) and parent.format_spec is not None:
        fault = "a format"
    return fault


def _is_ordered(compare: ast.Compare, node: ast.expr) -> bool:
    """< and its like; "12" in node."""
    return any(
        isinstance(operation, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        or (isinstance(operation, ast.In | ast.NotIn) and right is node)
        for operation, right in zip(compare.ops, compare.comparators, strict=True)
    )


def _find_guarded(tree: ast.AST, parents: Mapping[ast.AST, ast.AST], held: set[str]) -> Iterator[tuple[int, int]]:
    """Stretches before which the code asks which build of torch this is, or where it catches the error."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(_catches(handler) for handler in node.handlers):
            yield _begin(node.body[0]), _end(node.body[-1])
        elif isinstance(node, ast.BoolOp) and _asks(node.values[0], held):
            yield _end(node.values[0]), _end(node)
        elif isinstance(node, ast.IfExp) and _asks(node.test, held):
            yield _begin(node), _end(node)
        elif isinstance(node, ast.If | ast.While | ast.Assert) and _asks(node.test, held):
            leaves = isinstance(node, ast.Assert) or isinstance(node.body[-1], _LEAVES)
            block = parents.get(node) if leaves else node
            yield _end(node.test), _end(block) if isinstance(block, ast.stmt) else _FAR


def _asks(test: ast.expr, held: set[str]) -> bool:
    """The test looks at the build, and does nothing with the version that None does not take."""
    if not _ASKS.search(ast.unparse(test)[:500]) and not _names(test, held):
        return False
    return not any(
        isinstance(part, ast.Attribute | ast.Subscript)
        and (join_dotted(part.value).endswith("version.cuda") or _names(part.value, held))
        for part in ast.walk(test)
    )


def _names(node: ast.AST, names: set[str]) -> bool:
    return bool(names) and any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))


def _catches(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or bool(_CAUGHT.search(ast.unparse(handler.type)))


def _begin(node: ast.AST) -> int:
    return getattr(node, "lineno", 0) * _LINE + getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> int:
    return (getattr(node, "end_lineno", 0) or 0) * _LINE + (getattr(node, "end_col_offset", 0) or 0)
