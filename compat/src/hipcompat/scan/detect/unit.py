"""Text of a C, C++ or CUDA file → Unit: its code, what it includes and defines, and where its device code is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hipcompat.scan.conditions import Branch, drop_dead_code
from hipcompat.scan.detect.constants import Constants
from hipcompat.scan.detect.versions import find_version_uses
from hipcompat.scan.lexer import Code, lex
from hipcompat.scan.regions import begins_line, find_device_bodies, is_directive, split_arguments

_INCLUDE = re.compile(r'#[ \t]*include(?:_next)?[ \t]*([<"])([^>"\n]+)[>"]')
_DEFINE = re.compile(r"#[ \t]*define[ \t]+([A-Za-z_]\w*)(?:[ \t]+([^\n]*))?$", re.MULTILINE)
_BEFORE_A_CALL = frozenset(("return", "else", "throw", "case", "delete", "do", "co_return", "co_await", "co_yield"))
_QUALIFIER = re.compile(r"__(?:device|global|host)__")
_PLAIN_FUNCTION = re.compile(
    r"\b(?:inline|static)\s+\w+\s+(max|min|fminf|fmaxf|rsqrtf|rsqrt|umin|umax|make_\w+[234])\s*\("
)
_NVIDIA_COMPILER = re.compile(r"__CUDACC__|__NVCC__")
_WORD_BEFORE = re.compile(r"(\w+|[*&>])[ \t]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Include:
    """One #include that is compiled."""

    name: str
    is_quoted: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A file as HIP's compiler would see it. `unknown` are stretches under macros that nobody here defines."""

    code: Code
    unknown: tuple[tuple[int, int], ...]
    bodies: tuple[tuple[int, int], ...]
    includes: tuple[Include, ...]
    branches: tuple[Branch, ...]
    left_out: tuple[tuple[int, int], ...]
    """Qualifiers of device functions that stand in a branch for NVIDIA's compiler only."""
    version_uses: tuple[tuple[int, int], ...]
    """CUDART_VERSION as a value, and includes that are left out because it, or CUDA_VERSION, is not defined."""
    defined_twice: tuple[tuple[int, int], ...]
    """Functions of HIP that a branch for other compilers than NVIDIA's defines."""
    macros: dict[str, str]
    """Macros without parameters, and their text."""
    constants: Constants

    @property
    def text(self) -> str:
        """What is compiled; comments and literals are blank."""
        return self.code.code


def make_unit(raw: str) -> Unit:
    """Read a file without its includes."""
    whole = lex(raw)
    seen = drop_dead_code(whole)
    code = seen.code
    includes = tuple(
        Include(name=match[2], is_quoted=match[1] == '"', start=match.start(2), end=match.end(2))
        for match in _INCLUDE.finditer(code.text)
        if code.code[match.start()] == "#" and begins_line(code.code, match.start())
    )
    macros = {match[1]: (match[2] or "").strip() for match in _DEFINE.finditer(code.code)}
    return Unit(
        code=code,
        unknown=seen.unknown,
        bodies=find_device_bodies(code.code),
        includes=includes,
        branches=seen.branches,
        left_out=_find_left_out(whole.code, seen.branches),
        version_uses=find_version_uses(code, whole.code, seen.branches),
        defined_twice=_find_defined_twice(code.code, seen.branches),
        macros=macros,
        constants=Constants(code.code, macros),
    )


def _find_left_out(code: str, branches: tuple[Branch, ...]) -> tuple[tuple[int, int], ...]:
    """The first qualifier of each such branch."""
    matches = (
        _QUALIFIER.search(code, branch.start, branch.end)
        for branch in branches
        if branch.is_dead and _NVIDIA_COMPILER.search(branch.words)
    )
    return tuple(sorted({match.span() for match in matches if match}))


def _find_defined_twice(code: str, branches: tuple[Branch, ...]) -> tuple[tuple[int, int], ...]:
    """inline int max(int a, int b) { under #ifndef __CUDACC__."""
    return tuple(
        match.span(1)
        for branch in branches
        if not branch.is_dead and not branch.is_unknown and _NVIDIA_COMPILER.search(branch.words)
        for match in _PLAIN_FUNCTION.finditer(code, branch.start, branch.end)
    )


def defines_itself(unit: Unit, name: str) -> bool:
    """The file has a function or macro of this name: a type before it, and a body or a macro's text after it."""
    if name in unit.macros:
        return True
    text = unit.text
    at = text.find(f"{name}")
    while at >= 0:
        opening = at + len(name)
        if text[opening : opening + 1] == "(" and _is_declared(text, at, opening):
            return True
        at = text.find(name, at + 1)
    return False


def names_declaration(text: str, start: int) -> bool:
    """A type stands before the name at `start`: a prototype or a definition, and no call."""
    before = _WORD_BEFORE.search(text, max(0, start - 80), start)
    return before is not None and before[1] not in _BEFORE_A_CALL and not is_directive(text, start)


def _is_declared(text: str, start: int, opening: int) -> bool:
    before = _WORD_BEFORE.search(text, max(0, start - 80), start)
    if before is None or before[1] in _BEFORE_A_CALL:
        return False
    if before[1] == "define":
        return True
    arguments = split_arguments(text, opening)
    return bool(arguments) and text[arguments[-1][1] + 1 : arguments[-1][1] + 80].lstrip()[:1] == "{"
