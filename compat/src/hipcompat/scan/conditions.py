"""Code → Code without what HIP's compiler never sees: `#if 0`, and branches of macros that HIP leaves undefined.

Three answers: taken, dead, and unknown. What stands under a macro that nobody here defines is unknown.
"""

from __future__ import annotations

import dataclasses
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hipcompat.scan.lexer import Code
from hipcompat.scan.regions import begins_line, merge_ranges

_DIRECTIVE = re.compile(r"#[ \t]*(if|ifdef|ifndef|elif|else|endif|define|undef)\b([^\n]*)")
_TOKEN = re.compile(r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)[uUlL]*|([A-Za-z_]\w*)|(&&|\|\||[=!<>]=|<<|>>|[-+*/%<>!()&|^~?:,]))")
_BINDING = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip

DEFINED = {
    "__HIP__": 1, "__HIPCC__": 1, "__HIP_PLATFORM_AMD__": 1, "__HIP_PLATFORM_HCC__": None, "USE_ROCM": None,
    "__cplusplus": 201703, "__linux__": 1, "__linux": 1, "linux": 1, "__x86_64__": 1, "__unix__": 1, "__clang__": 1,
    "__GNUC__": 4, "__clang_major__": 22, "__LP64__": 1, "__CHAR_BIT__": 8,
}  # fmt: skip
"""Macros that clang defines for HIP, with their values; None: defined or not, depending on the build."""
UNDEFINED = frozenset((
    "__CUDACC__", "__CUDA_ARCH__", "__NVCC__", "__CUDACC_VER_MAJOR__", "__CUDACC_VER_MINOR__", "__CUDACC_RTC__",
    "__CUDACC_EXTENDED_LAMBDA__", "__CUDA_ARCH_LIST__", "__NVCOMPILER", "__CUDA__", "__HIP_PLATFORM_NVIDIA__",
    "_WIN32", "WIN32", "_WIN64", "_MSC_VER", "__APPLE__", "__MACH__", "MACOSX", "__MINGW32__", "__ICC",
    "__INTEL_COMPILER", "__arm__", "__aarch64__", "__ARM_ARCH", "__PGI", "__QNX__", "_MSC_EXTENSIONS", "__MACOSX__",
    "__CUDA_NO_HALF_OPERATORS__", "__DEVICE_EMULATION__", "__QNXNTO__", "WINDOWS_LEAN_AND_MEAN", "__ANDROID__",
    "CUDART_VERSION",
))  # fmt: skip
"""Macros that clang does not define for HIP on Linux."""

_DEEPEST = 64
"""Nested conditionals beyond which nobody asks what a branch was for."""

Value = int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch that is dead or unknown, or taken for want of NVIDIA's compiler; and what its #if asks."""

    start: int
    end: int
    words: str
    is_dead: bool
    is_unknown: bool


@dataclass(slots=True)
class _Level:
    """One #if that is open: what its branches were so far."""

    taken: Value
    """1: this branch is compiled; 0: it is not; None: nobody knows."""
    was_taken: Value
    """An earlier branch was."""
    start: int
    words: str
    """What the #if asks."""


@dataclass(slots=True)
class _Walk:
    macros: dict[str, Value]
    levels: list[_Level] = field(default_factory=list)
    dead: list[tuple[int, int]] = field(default_factory=list)
    unknown: list[tuple[int, int]] = field(default_factory=list)
    asked: list[Branch] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """`code` has blanks where nothing is compiled; `unknown` are stretches that may not be."""

    code: Code
    unknown: tuple[tuple[int, int], ...]
    branches: tuple[Branch, ...]


def drop_dead_code(code: Code) -> Seen:
    """Follow the conditionals of one file, by what HIP's compiler defines and what the file itself does."""
    if "#" not in code.code:
        return Seen(code=code, unknown=(), branches=())
    walk = _Walk(macros={})
    for match in _DIRECTIVE.finditer(code.code):
        if begins_line(code.code, match.start()):
            _follow(walk, match[1], match[2], match.end(), match.start())
    for level in walk.levels:
        _close(walk, level, len(code.code))
    text = _blank_ranges(code.code, merge_ranges(walk.dead))
    return Seen(
        code=dataclasses.replace(code, code=text), unknown=merge_ranges(walk.unknown), branches=tuple(walk.asked)
    )


def _blank_ranges(text: str, ranges: tuple[tuple[int, int], ...]) -> str:
    parts = []
    at = 0
    for start, end in ranges:
        parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
        at = end
    return "".join((*parts, text[at:]))


def _follow(walk: _Walk, word: str, rest: str, after: int, before: int) -> None:
    if word in {"if", "ifdef", "ifndef"}:
        value = _decide(walk, word, rest)
        walk.levels.append(_Level(taken=value, was_taken=value, start=after, words=rest))
    elif word in {"define", "undef"}:
        if all(level.taken != 0 for level in walk.levels):
            _define(walk, word, rest)
    elif walk.levels:
        level = walk.levels[-1]
        _close(walk, level, before)
        if word == "endif":
            walk.levels.pop()
            return
        value = 1 if word == "else" else evaluate(rest, walk.macros)
        level.taken = 0 if level.was_taken == 1 else value if level.was_taken == 0 else (0 if value == 0 else None)
        level.was_taken = 1 if 1 in {level.was_taken, level.taken} else None if level.was_taken is None else level.taken
        level.start = after
        level.words = f"{level.words} {rest}"


def _decide(walk: _Walk, word: str, rest: str) -> Value:
    if word == "if":
        return evaluate(rest, walk.macros)
    name = (rest.split(maxsplit=1) or [""])[0]
    value = _is_defined(name, walk.macros)
    if word == "ifdef":
        return value
    # An include guard: #ifndef of a name that is defined nowhere yet.
    return 1 if value is None and name not in DEFINED else None if value is None else int(not value)


def _define(walk: _Walk, word: str, rest: str) -> None:
    match = re.match(r"\s*([A-Za-z_]\w*)(\(?)\s*(.*)", rest)
    if match and word == "undef":
        walk.macros.pop(match[1], None)
    elif match:
        number = re.fullmatch(r"\(?\s*(\d+)[uUlL]*\s*\)?\s*", match[3])
        walk.macros[match[1]] = int(number[1]) if number and not match[2] else None


def _close(walk: _Walk, level: _Level, end: int) -> None:
    if level.taken == 0:
        walk.dead.append((level.start, end))
    elif level.taken is None:
        walk.unknown.append((level.start, end))
    if len(walk.levels) <= _DEEPEST and (level.taken != 1 or "__CUDACC__" in level.words):
        is_unknown = level.taken is None
        walk.asked.append(
            Branch(start=level.start, end=end, words=level.words, is_dead=level.taken == 0, is_unknown=is_unknown)
        )


def _is_defined(name: str, macros: Mapping[str, Value]) -> Value:
    if name in macros:
        return 1
    if name in UNDEFINED:
        return 0
    if name in DEFINED:
        return 1 if DEFINED[name] is not None else None
    return None


def evaluate(text: str, macros: Mapping[str, Value]) -> Value:
    """Value of an #if expression as 0 or 1; None where it hangs on a macro that is not known."""
    value = compute(text, macros)
    return None if value is None else int(bool(value))


def compute(text: str, macros: Mapping[str, Value]) -> Value:
    """The number that an expression of integers comes to; None where it is not known, or is no expression."""
    tokens: list[str] = []
    at = 0
    while match := _TOKEN.match(text, at):
        tokens.append(next(group for group in match.groups() if group))
        at = match.end()
        if len(tokens) > 200:
            return None
    tokens.reverse()
    try:
        value = _parse(tokens, 1, macros)
    except (IndexError, ValueError, RecursionError):
        return None
    return None if tokens else value


def _parse(tokens: list[str], floor: int, macros: Mapping[str, Value]) -> Value:
    left = _parse_unary(tokens, macros)
    while tokens and _BINDING.get(tokens[-1], 0) >= floor:
        sign = tokens.pop()
        left = _combine(sign, left, _parse(tokens, _BINDING[sign] + 1, macros))
    return left


def _parse_unary(tokens: list[str], macros: Mapping[str, Value]) -> Value:
    word = tokens.pop()
    if word in {"!", "-", "+", "~"}:
        value = _parse_unary(tokens, macros)
        return None if value is None else {"!": int(not value), "-": -value, "+": value, "~": ~value}[word]
    if word == "(":
        value = _parse(tokens, 1, macros)
        if tokens.pop() != ")":
            raise ValueError
        return value
    if word == "defined":
        name = tokens.pop()
        if name == "(":
            name = tokens.pop()
            tokens.pop()
        return _is_defined(name, macros)
    if word[0].isdigit():
        return int(word, 8 if re.fullmatch(r"0\d+", word) else 0)
    return _value_of(word, tokens, macros)


def _value_of(name: str, tokens: list[str], macros: Mapping[str, Value]) -> Value:
    if tokens and tokens[-1] == "(":  # a function-like macro or __has_include: nobody knows
        depth = 0
        while tokens:
            token = tokens.pop()
            depth += {"(": 1, ")": -1}.get(token, 0)
            if not depth:
                break
        return None
    if name in macros:
        return macros[name]
    if name in UNDEFINED:
        return 0
    return DEFINED.get(name)


def _combine(sign: str, left: Value, right: Value) -> Value:
    if sign in {"&&", "||"}:
        decisive = 0 if sign == "&&" else 1
        truths = [None if value is None else int(bool(value)) for value in (left, right)]
        return decisive if decisive in truths else None if None in truths else 1 - decisive
    if left is None or right is None:
        return None
    if sign in {"/", "%"} and not right:
        return None
    if sign in {"<<", ">>"} and not 0 <= right < 64:
        return None
    return int(_ARITHMETIC[sign](left, right))


_ARITHMETIC = {
    "|": operator.or_, "^": operator.xor, "&": operator.and_, "+": operator.add, "-": operator.sub, "*": operator.mul,
    "/": operator.floordiv, "%": operator.mod, "<<": operator.lshift, ">>": operator.rshift, "==": operator.eq,
    "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
