"""Comments in a file, or a baseline file → which findings are known and not told again."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hipcompat.errors import FileError
from hipcompat.paths import AnyPath, make_path
from hipcompat.scan.finding import Finding
from hipcompat.scan.text import Text
from hipcompat.whole_file import write_whole

_MARK = re.compile(r"hipcompat:[ \t]*ignore(-file)?(?:\[([\w+, *-]*)\])?")
_NAME = re.compile(r"[\w+-]+")
_ALONE = re.compile(r"[ \t]*(?:/\*(?:[^*\n]|\*(?!/))*\*/[ \t]*)*(?:(?://|#)[^\n]*|/\*(?:[^*\n]|\*(?!/))*)?$")
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*[a-z]+\b[^\n]*?/[/*]")
"""A line of the preprocessor, up to its comment; one of # is Python's or the shell's."""
SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Rules that a file's own comments silence: everywhere, and by line. "*" is any rule."""

    everywhere: frozenset[str] = frozenset()
    by_line: Mapping[int, frozenset[str]] = field(default_factory=dict)

    named: tuple[tuple[str, int, int], ...] = ()
    """Each name of a rule that a mark has, and its place in the text."""

    def keep(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Those that no mark silences."""
        return tuple(finding for finding in findings if not self.silence(finding))

    def silence(self, finding: Finding) -> bool:
        """A mark on the line, or alone on the line above."""
        rules = self.everywhere | self.by_line.get(finding.line, frozenset())
        return finding.rule in rules or "*" in rules


def read_marks(text: Text) -> Marks:
    """`// hipcompat: ignore[RULE, ...]`, `# hipcompat: ignore`, `hipcompat: ignore-file[RULE]`."""
    if "hipcompat:" not in text.raw:
        return Marks()
    everywhere: set[str] = set()
    by_line: dict[int, frozenset[str]] = {}
    named: list[tuple[str, int, int]] = []
    for match in _MARK.finditer(text.raw):
        named += [
            (part.group(), match.start(2) + part.start(), match.start(2) + part.end())
            for part in _NAME.finditer(match[2] or "")
        ]
        rules = frozenset(part.strip() for part in (match[2] or "*").split(",") if part.strip())
        if match[1]:
            everywhere |= rules
            continue
        line, _ = text.find_position(match.start())
        line += _is_alone(text.line_at(match.start()))
        by_line[line] = by_line.get(line, frozenset()) | rules
    return Marks(everywhere=frozenset(everywhere), by_line=by_line, named=tuple(named))


def _is_alone(line: str) -> bool:
    """Nothing but comments stands on a mark's line."""
    if (directive := _DIRECTIVE.match(line)) and "hipcompat:" not in directive.group():
        return False
    return _ALONE.match(line) is not None


def read_baseline(path: AnyPath) -> Counter[str]:
    """Fingerprints and how often each is known. Raises FileError where the file is no baseline."""
    place = make_path(path)
    if place.exists() and not place.is_file():
        raise FileError(f"{path} is no file", hint="a baseline is what --write-baseline wrote")
    try:
        value = json.loads(place.read_text(encoding="utf-8"))
        if value["schema"] != SCHEMA:
            raise FileError(
                f"{path} has schema {value['schema']}, not {SCHEMA}", hint="write it anew: --write-baseline"
            )
        return Counter({str(key): int(count) for key, count in value["findings"].items()})
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise FileError(f"{path} is no baseline: {error}", hint="write it anew: --write-baseline") from error


def write_baseline(findings: Iterable[Finding], path: AnyPath) -> None:
    """Sorted; appears whole or not at all."""
    counts = Counter(finding.fingerprint for finding in findings)
    value = {"schema": SCHEMA, "findings": dict(sorted(counts.items()))}
    write_whole(make_path(path), (json.dumps(value, indent=1) + "\n").encode())
