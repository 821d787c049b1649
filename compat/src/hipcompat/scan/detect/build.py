"""Text of a build file → hits: line by line, and what spans lines: CMake's commands, the values of Docker's ARG."""

from __future__ import annotations

import re

from hipcompat.scan.detect.build_patterns import CMAKE_COMMAND, IMAGE, PATTERNS, Patterns
from hipcompat.scan.detect.nvcc import is_unknown_to_clang
from hipcompat.scan.regions import is_inside
from hipcompat.scan.rule import Hit, Hits

_FLAG_WORD = re.compile(r"(?<![\w./=-])--?[A-Za-z][\w-]*(?:=[^\s\"';)]*)?")
_CMAKE_FLAGS = re.compile(
    r"\b(?:(?:set|list|string)\s*\(\s*(?:\w+\s+)?\w*(?:CUDA|NVCC)\w*FLAGS\w*|(?:target|add)_compile_options\s*\()"
    r"[^()]{0,4000}",
    re.IGNORECASE,
)
"""Commands of CMake that give flags to nvcc."""
_NVCC_LINE = re.compile(
    r"(?:\b\w{0,40}(?:NVCC|CUDA)\w{0,40}FLAGS\w{0,40}[ \t]*[:+?]?=|(?<![\w-])nvcc(?=\s)|\$[({]NVCC[)}])[^\n]{0,4000}"
)
"""A line of make or of the shell that calls nvcc, or sets its flags."""
_FLAGGED = frozenset(("cmake", "meson", "shell"))
_ARGUMENT = re.compile(r"[ \t]*ARG[ \t]+(\w+)=[\"']?([^\s\"']*)", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})")
_LONGEST_VALUE = 500
_MOST_VARIABLES = 10
_ROCM_BUILD = re.compile(r"\+rocm|/rocm\d|whl/rocm|repo\.radeon\.com")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
_BRACKET = re.compile(r"#\[(=*)\[.{0,2000}?\]\1\]", re.DOTALL)
_LONGEST_LINE = 4_000
_CONTINUED = re.compile(r"\\\r?\n")


def is_build_file(language: str) -> bool:
    """`find_build_hits` reads it."""
    return language in PATTERNS


def find_build_hits(raw: str, language: str) -> tuple[Hit, ...]:
    """`language` is a key of PATTERNS."""
    text = blank_comments(raw, language)
    text = _CONTINUED.sub(lambda match: " " * len(match.group()), text)
    hits = [*_find_lines(text, PATTERNS[language])]
    if language in _FLAGGED and ("nvcc" in (small := text.lower()) or "cuda" in small):
        hits += _find_flags(text, language)
    if language == "cmake":
        hits += _find_commands(text)
    elif language == "docker":
        hits += _find_images(text)
    return tuple(sorted(hits, key=lambda hit: (hit.start, hit.rule)))


def blank_comments(raw: str, language: str) -> str:
    """As long as it was."""
    return _COMMENT.sub(_blank, _BRACKET.sub(_blank, raw) if language == "cmake" else raw)


def _find_commands(text: str) -> Hits:
    for match in CMAKE_COMMAND.finditer(text):
        if "CUDA" in match[1].split()[0 if not match[0].lower().startswith("project") else 1 :]:
            yield Hit(rule="cmake-cuda", start=match.start(), end=match.end(), detail=" ".join(match[0].split())[:80])


def _find_images(text: str) -> Hits:
    """Lines that take an image of NVIDIA's, also by the value that an ARG has unless the build gives another."""
    values: dict[str, str] = {}
    start = 0
    for line in text.split("\n"):
        known = _VARIABLE.sub(lambda match: _look_up(match, values), line[:_LONGEST_LINE], count=_MOST_VARIABLES)
        if argument := _ARGUMENT.match(known):
            values[argument[1]] = argument[2][:_LONGEST_VALUE]
        elif match := IMAGE.search(known):
            end = start + len(line.rstrip())
            yield Hit(rule="cuda-image", start=start, end=end, detail=match.group().strip()[:200])
        start += len(line) + 1


def _look_up(match: re.Match[str], values: dict[str, str]) -> str:
    return values.get(match[1] or match[2], match[3] or "")


def _find_lines(text: str, patterns: Patterns) -> Hits:
    start = 0
    for line in text.split("\n"):
        for rule, pattern in patterns:
            match = pattern.search(line, 0, _LONGEST_LINE)
            if match and not (rule == "torch-swap" and _ROCM_BUILD.search(line)):
                yield Hit(
                    rule=rule, start=start + match.start(), end=start + match.end(), detail=match.group().strip(" \"'")
                )
        start += len(line) + 1


def _find_flags(text: str, language: str) -> Hits:
    pattern = _CMAKE_FLAGS if language == "cmake" else _NVCC_LINE
    sure = tuple(match.span() for match in pattern.finditer(text))
    for match in _FLAG_WORD.finditer(text):
        if is_unknown_to_clang(match.group(), is_sure=is_inside(sure, match.start())):
            yield Hit(rule="nvcc-flag", start=match.start(), end=match.end(), detail=match.group())


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())
