"""Code → what stands where: bodies of device functions, the arguments of a call, templates' arguments."""

from __future__ import annotations

import bisect
import re

_DEVICE = re.compile(r"__(?:global|device)__\b")
_BODY = re.compile(r"[;{]")
_BRACES = re.compile(r"[{}]")
_NESTING = re.compile(r"[()\[\]{},]")
LONGEST_CALL = 4_000
"""Characters after which an unclosed parenthesis is given up."""
_DEEPEST_CALL = 64
_INDENT = 200
_ROUND = re.compile(r"[()]")
_LAST_WORD = re.compile(r"([A-Za-z_]\w*)\s*$")
_LONGEST_HEADER = 2_000
_LONGEST_DIRECTIVE = 20_000


def find_device_bodies(code: str) -> tuple[tuple[int, int], ...]:
    """Start and end of the bodies of __global__ and __device__ functions and lambdas, sorted, not nested."""
    bodies: list[tuple[int, int]] = []
    for match in _DEVICE.finditer(code):
        if (bodies and match.start() < bodies[-1][1]) or is_directive(code, match.start()):
            continue
        opening = _BODY.search(code, match.end())
        if opening is None:
            break
        if opening.group() == "{":
            bodies.append((opening.start(), find_closing(code, opening.start())))
    return tuple(bodies)


def begins_line(code: str, offset: int) -> bool:
    """Nothing but a few blanks stands before it on its line."""
    window = code[max(0, offset - _INDENT) : offset]
    return not window.rpartition("\n")[2].strip() and ("\n" in window or offset <= _INDENT)


def is_directive(code: str, offset: int) -> bool:
    """The line is the preprocessor's."""
    start = code.rfind("\n", max(0, offset - _LONGEST_DIRECTIVE), offset) + 1
    return code[start : start + 40].lstrip().startswith("#")


def find_closing(code: str, opening: int) -> int:
    """The offset after the brace that closes the one at `opening`; the end of the text where none does."""
    depth = 0
    for match in _BRACES.finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if not depth:
            return match.end()
    return len(code)


def find_function(code: str, body: int) -> tuple[str, int]:
    """The name of the function whose body begins at `body`, and where its parameters open; empty for a lambda."""
    closing = code.rfind(")", max(0, body - _LONGEST_HEADER), body)
    depth = 0
    for match in reversed(list(_ROUND.finditer(code, max(0, body - _LONGEST_HEADER), closing + 1))):
        depth += 1 if match.group() == ")" else -1
        if not depth:
            name = _LAST_WORD.search(code, max(0, match.start() - _INDENT), match.start())
            return (name[1], match.start()) if name else ("", match.start())
    return "", body


def merge_ranges(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sorted, and without overlaps."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def is_inside(ranges: tuple[tuple[int, int], ...], offset: int) -> bool:
    """`ranges` are sorted and do not overlap."""
    at = bisect.bisect_right(ranges, (offset, len(ranges) and ranges[-1][1] + 1)) - 1
    return at >= 0 and ranges[at][0] <= offset < ranges[at][1]


def trim(code: str, start: int, end: int) -> tuple[int, int]:
    """A stretch without the blanks at its ends."""
    part = code[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def split_arguments(code: str, opening: int) -> tuple[tuple[int, int], ...]:
    """Start and end of each argument of the call whose parenthesis is at `opening`; empty where it does not close."""
    found = []
    depth, start = 0, opening + 1
    for match in _NESTING.finditer(code, opening, opening + LONGEST_CALL):
        sign = match.group()
        if sign in "([{":
            depth += 1
            if depth > _DEEPEST_CALL:
                break
        elif sign == ",":
            if depth == 1:
                found.append((start, match.start()))
                start = match.end()
        else:
            depth -= 1
            if not depth:
                return (*found, (start, match.start()))
    return ()
