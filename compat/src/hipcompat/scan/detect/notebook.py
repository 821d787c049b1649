"""Text of a Jupyter notebook → hits in its code cells: Python, lines for the shell, cells of other languages.

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
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class _Cell:
    """The source of a cell, and where its stretches come from: offsets of the text and of the file, in pairs."""

    text: str
    starts: list[int]
    origins: list[int]

    def origin(self, offset: int) -> int:
        at = bisect.bisect_right(self.starts, offset) - 1
        return self.origins[at] + offset - self.starts[at] if at >= 0 else offset


def is_notebook(content: bytes) -> bool:
    """JSON of a mapping with cells, whatever is in them."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("cells"), list)


def find_notebook_hits(raw: str) -> tuple[tuple[Hit, ...], Counter[str]]:
    """Hits in the order of the file. Raises ValueError for what is no notebook."""
    renamed: Counter[str] = Counter()
    hits: list[Hit] = []
    for cell in _read_cells(raw):
        found, names = _find_cell_hits(cell.text)
        renamed.update(names)
        hits += (replace(hit, start=cell.origin(hit.start), end=cell.origin(hit.end)) for hit in found)
    return tuple(sorted(hits, key=lambda hit: (hit.start, hit.rule))), renamed


def _read_cells(raw: str) -> Iterator[_Cell]:
    try:
        value = _Decoder().decode(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError("no notebook") from error
    cells = value.get("cells") if isinstance(value, dict) else None
    if not isinstance(cells, list):
        raise ValueError("no notebook")  # noqa: TRY004  # of a file, not of an argument
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", ())
            lines = source if isinstance(source, list) else [source]
            yield _join(raw, [line for line in lines if isinstance(line, _Place)])


def _join(raw: str, lines: list[_Place]) -> _Cell:
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
    return _Cell("".join(parts), starts, origins)


def _find_cell_hits(text: str) -> tuple[tuple[Hit, ...], Counter[str]]:
    magic = _CELL.match(text)
    if magic and magic[1] in _SHELLS:
        return find_build_hits(_blank(text, magic.end()), "shell"), Counter()
    if magic and (magic[1] in _CUDA_CELLS or (magic[1] == "writefile" and re.search(r"\.cuh?\b", magic[2]))):
        return find_hits(make_unit(_blank(text, magic.end())))
    lines = text.split("\n")
    code = "\n".join(_hide(line) if _MAGIC.match(line) else line for line in lines)
    commands = "\n".join(_bare(line) if _MAGIC.match(line) else " " * len(line) for line in lines)
    hits, renamed = find_python_hits(code, is_setup=False)
    return (*hits, *find_build_hits(commands, "shell")), renamed


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
