"""What clang prints → Diagnostic: file, line, column and message of each error, and who included that file."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLACE = re.compile(r"^(?P<path>[^:\n][^:\n]*):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<message>.*)$")
_PLAIN = re.compile(r"^(?:\S*(?:clang|lld|ld\.lld)\S*: )?(?:fatal )?error: (?P<message>.*)$")
_RESOURCE = re.compile(r"(?P<path>[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?P<message>.*)$")
"""What LLVM's code generator says of a function, after "error: "; of an unknown place <unknown>:0:0."""
_INCLUDED = re.compile(r"^(?:In file included from|                 from) (?P<path>[^:\n]+):(?P<line>\d+)[:,]$")
_INSTANTIATED = re.compile(r"^<inline asm>:\d+:\d+: note: instantiated into assembly here$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One error. `path` is empty and `line` 0 where clang names no place, `column` 0 where it names a line alone.

    `included_from` is innermost last.
    """

    path: str
    line: int
    column: int
    message: str
    included_from: tuple[str, ...] = ()
    instruction: str = ""
    """The instruction that the assembler refused, where it was one."""


def parse_diagnostics(text: str) -> tuple[Diagnostic, ...]:
    """Errors in the order in which clang prints them, each once; warnings and notes are left out."""
    found: list[Diagnostic] = []
    chain: list[str] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if match := _INCLUDED.match(line):
            chain.append(f"{match['path']}:{match['line']}")
        elif match := _PLACE.match(line):
            found.append(_make_diagnostic(match, tuple(chain)))
            chain = []
        elif match := _PLAIN.match(line):
            found.append(_read_plain(match["message"]))
        elif _INSTANTIATED.match(line) and found and number + 1 < len(lines):
            found[-1] = _add_instruction(found[-1], lines[number + 1])
        elif not line.startswith((" ", "In file")):
            chain = []
    return tuple(dict.fromkeys(found))


def _read_plain(message: str) -> Diagnostic:
    match = _RESOURCE.match(message)
    if match and match["path"] != "<unknown>":
        return _make_diagnostic(match, ())
    return Diagnostic(path="", line=0, column=0, message=match["message"] if match else message)


def _make_diagnostic(match: re.Match[str], chain: tuple[str, ...]) -> Diagnostic:
    return Diagnostic(
        path=match["path"], line=int(match["line"]), column=int(match["column"]), message=match["message"],
        included_from=chain,
    )  # fmt: skip


def _add_instruction(found: Diagnostic, line: str) -> Diagnostic:
    return Diagnostic(
        path=found.path, line=found.line, column=found.column, message=found.message, included_from=found.included_from,
        instruction=line.partition("|")[2].strip(),
    )  # fmt: skip
