"""Text of a Jupyter notebook → its code cells, and the hits in one: Python, lines for the shell, other languages.

The format: nbformat 4, https://nbformat.readthedocs.io/en/latest/format_description.html. A cell's source is one
string of JSON, or a list of them.
"""

from __future__ import annotations

import bisect
import json
import json.decoder
import json.scanner
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hipcompat.scan.detect.build import find_build_hits
from hipcompat.scan.detect.cuda import find_hits
from hipcompat.scan.detect.python import find_python_hits
from hipcompat.scan.detect.unit import make_unit
from hipcompat.scan.rule import Hit

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_MAGIC = re.compile(r"[ \t]*(?:!|%[a-zA-Z])")
_CELL = re.compile(r"\s*%%(\w+)([^\n]*)")
_SHELLS = frozenset(("bash", "sh", "shell", "script", "system"))
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""As nbformat 4.5's schema has it."""
_CUDA_CELLS = frozenset(("cu", "cuda", "cuda_group_save", "cuda_group_run"))


class _Place(str):
    """What a string of JSON holds, and where it begins behind its quote, and ends."""

    __slots__ = ("end", "start")
    start: int
    end: int


class _Decoder(json.JSONDecoder):
    """Strings know where they stand. The pure scanner of the standard library calls parse_string for values."""

    def __init__(self) -> None:
        super().__init__(strict=False)
        self.parse_string = _parse_string
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]  # not in the stubs


def _parse_string(text: str, start: int, strict: bool = True) -> tuple[_Place, int]:
    value, end = json.decoder.scanstring(text, start, strict)  # type: ignore[attr-defined]  # not in the stubs
    place = _Place(value)
    place.start, place.end = start, end - 1
    return place, end


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeCell:
    """The source of a code cell, and where its stretches come from: offsets of the text and of the file, in pairs."""

    number: int
    """Among all cells, from 1."""
    id: str
    text: str
    starts: list[int]
    origins: list[int]

    def origin(self, offset: int) -> int:
        """Of an offset of the text, the one of the file."""
        at = bisect.bisect_right(self.starts, offset) - 1
        return self.origins[at] + offset - self.starts[at] if at >= 0 else offset


def is_notebook(content: bytes) -> bool:
    """JSON of a mapping with cells, whatever is in them."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("cells"), list)


def read_cells(raw: str) -> tuple[CodeCell, ...]:
    """The code cells, in their order. Raises ValueError for what is no notebook."""
    return tuple(_read_cells(raw))


def _read_cells(raw: str) -> Iterator[CodeCell]:
    try:
        value = _Decoder().decode(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError("no notebook") from error
    cells = value.get("cells") if isinstance(value, dict) else None
    if not isinstance(cells, list):
        raise ValueError("no notebook")  # noqa: TRY004  # of a file, not of an argument
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source, name = cell.get("source", ()), cell.get("id")
            lines = source if isinstance(source, list) else [source]
            text, starts, origins = _join(raw, [line for line in lines if isinstance(line, _Place)])
            known = str(name) if isinstance(name, str) and _ID.fullmatch(name) else ""
            yield CodeCell(number=number, id=known, text=text, starts=starts, origins=origins)


def _join(raw: str, lines: list[_Place]) -> tuple[str, list[int], list[int]]:
    """The lines without their escapes; a character beyond ASCII as the bytes of its UTF-8, as everywhere in scan."""
    parts: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    length = 0

    def add(text: str, origin: int) -> None:
        nonlocal length
        starts.append(length)
        origins.append(origin)
        parts.append(text)
        length += len(text)

    for line in lines:
        at = line.start
        for match in _ESCAPE.finditer(raw, line.start, line.end):
            add(raw[at : match.start()], at)
            character = chr(int(match[1], 16)) if match[1] else _LETTERS.get(match[2], match[2])
            is_wide = bool(match[1]) and ord(character) > 0x7F
            add(character.encode("utf-8", "replace").decode("latin-1") if is_wide else character, match.start())
            at = match.end()
        add(raw[at : line.end], at)
    return "".join(parts), starts, origins


def find_cell_hits(text: str) -> tuple[tuple[Hit, ...], Counter[str]]:
    """In the order of the cell, and the names that translation renames."""
    magic = _CELL.match(text)
    if magic and magic[1] in _SHELLS:
        return find_build_hits(_blank(text, magic.end()), "shell"), Counter()
    if magic and (magic[1] in _CUDA_CELLS or (magic[1] == "writefile" and re.search(r"\.cuh?\b", magic[2]))):
        return find_hits(make_unit(_blank(text, magic.end())))
    lines = text.split("\n")
    code = "\n".join(_hide(line) if _MAGIC.match(line) else line for line in lines)
    commands = "\n".join(_bare(line) if _MAGIC.match(line) else " " * len(line) for line in lines)
    hits, renamed = find_python_hits(code, is_setup=False)
    return tuple(sorted((*hits, *find_build_hits(commands, "shell")), key=lambda hit: (hit.start, hit.rule))), renamed


def _hide(line: str) -> str:
    """A line for the shell as Python: a statement with the same indentation and length, where there is room."""
    indentation = line[: len(line) - len(line.lstrip())]
    room = len(line) - len(indentation)
    return indentation + "pass".ljust(room) if room >= len("pass") else " " * len(line)


def _bare(line: str) -> str:
    """Without its ! or %."""
    at = len(line) - len(line.lstrip())
    return f"{line[:at]} {line[at + 1 :]}"


def _blank(text: str, end: int) -> str:
    return " " * end + text[end:]
