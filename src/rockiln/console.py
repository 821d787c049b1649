"""Progress and narration → stderr. Results never pass here; nothing prints escape codes into a pipe.

Names of files are anybody's text: `printable` is what stands between them and a terminal.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol, TextIO

Unit = Literal["files", "bytes", "checks"]

QUIET_S = 2.0
"""Whatever takes longer shows progress; whatever is shorter stays silent in a pipe."""


def printable(text: str) -> str:
    """`text` for one line or cell: what a terminal would obey or not show is written as JSON escapes it.

    That is every character that is not printable (Unicode: control, format, separators but the blank, private,
    unassigned) and the bytes of a name that are not UTF-8: `\\u001b`, `\\n`, `\\udcff`. Inside JSON text it stays the
    same value.
    """
    return text if text.isprintable() else "".join(map(_escape, text))


def printable_lines(text: str) -> str:
    """The same for a whole text: its own line ends and tabs stay."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def _escape(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


class _Heedless(io.FileIO):
    """What cannot be written is let go."""

    def write(self, data: Any) -> int:  # as io's own stub has it
        try:
            return super().write(data)
        except OSError:
            return len(data)


def open_narration() -> TextIO:
    """Stderr in which nothing fails: closed, full or without a reader, it changes no result and no exit code."""
    if sys.stderr is None:  # closed when Python began; the next file to be opened would get its number
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    encoding = sys.stderr.encoding if sys.stderr else "utf-8"
    raw = io.BufferedWriter(_Heedless(2, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", line_buffering=True)


class Progress(Protocol):
    """Told by a stage how far it is; safe to call from any thread."""

    def advance(self, amount: int) -> None:
        """`amount` more files or bytes are done."""


class Console:
    """Where a stage narrates. `stream=None` says nothing: for tests and --quiet."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._is_terminal = stream is not None and stream.isatty()

    def say(self, text: str) -> None:
        """One line of narration."""
        if self._stream is not None:
            print(printable_lines(text), file=self._stream, flush=True)

    def warn(self, text: str) -> None:
        """One line that a person should not miss."""
        self.say(f"rockiln: warning: {text}")

    @contextmanager
    def progress(self, title: str, total: int, unit: Unit = "files") -> Iterator[Progress]:
        """Show how far `title` is: a bar on a terminal, a line every ten seconds elsewhere.

        `total` is 0 where it is not known.
        """
        if self._is_terminal:
            with _bar(title, total, unit, self._stream) as bar:
                yield bar
        else:
            lines = _Lines(self, title, total, unit)
            yield lines
            lines.finish()


class _Lines:
    """Progress for pipes and logs: silent under QUIET_S, then a line every ten seconds and one at the end."""

    def __init__(self, console: Console, title: str, total: int, unit: Unit) -> None:
        self._console, self._title, self._total, self._unit = console, title, total, unit
        self._done = 0
        self._lock = threading.Lock()
        self._start_s = time.monotonic()
        self._next_s = self._start_s + QUIET_S

    def advance(self, amount: int) -> None:
        with self._lock:
            self._done += amount
            now_s = time.monotonic()
            if now_s >= self._next_s:
                self._next_s = now_s + 10
                self._console.say(f"{self._title}: {self._amount()}")

    def finish(self) -> None:
        spent_s = time.monotonic() - self._start_s
        if spent_s >= QUIET_S:
            self._console.say(f"{self._title}: {self._amount()} in {spent_s:.1f} s")

    def _amount(self) -> str:
        if self._unit == "bytes":
            done, total = f"{self._done / 1e6:.1f}", f"{self._total / 1e6:.1f} MB"
        else:
            done, total = str(self._done), f"{self._total} {self._unit}"
        return f"{done} of {total}" if self._total else f"{done} {total.split()[-1]}"


@contextmanager
def _bar(title: str, total: int, unit: Unit, stream: TextIO | None) -> Iterator[Progress]:
    from rich.console import Console as RichConsole
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    amount = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeElapsedColumn())
    with RichProgress(*columns, console=RichConsole(file=stream), transient=False) as progress:
        task = progress.add_task(title, total=total or None)

        class Bar:
            def advance(self, amount: int) -> None:
                progress.advance(task, amount)

        yield Bar()
