"""Paths → Translated files: content, where it goes, and the findings that remain; writing is a step of its own."""

from __future__ import annotations

import difflib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hipcompat.errors import UsageError
from hipcompat.facts import provided
from hipcompat.paths import AnyPath, AnyPaths, list_paths, make_path
from hipcompat.scan.finding import Finding, Skipped
from hipcompat.scan.kinds import find_language
from hipcompat.scan.rule import Target
from hipcompat.scan.scanner import LARGEST_BYTES, Scanned, scan_bytes, skip_closed
from hipcompat.scan.tree import Candidate, find_files
from hipcompat.translate.rename import find_obstacle, rename

_INCLUDED = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)", re.MULTILINE)

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
"""A form feed or a lone carriage return ends none: patches count lines by LF."""
_UNSAFE = re.compile(rb"[\x00-\x1f\x7f\"\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """One C++ file. `findings` are what scan says of the new content."""

    path: Path
    output_path: Path
    before: bytes
    content: bytes
    count: int
    findings: tuple[Finding, ...]

    @property
    def is_changed(self) -> bool:
        """Content or name differ."""
        return self.content != self.before

    def find_headers(self) -> tuple[str, ...]:
        """Headers of hipcompat's that the new content includes, since HIP has none such; in the order of the file."""
        found = (match[1].decode("latin-1") for match in _INCLUDED.finditer(self.content))
        return tuple(dict.fromkeys(name for name in found if name in provided.HEADERS))

    def diff(self) -> bytes:
        """Unified, byte by byte, as `git apply` and `patch -p1` take it."""
        before, after = (_LINE.findall(content) for content in (self.before, self.content))
        old, new = (_quote(side, path) for side, path in ((b"a/", self.path), (b"b/", self.output_path)))
        made = difflib.diff_bytes(difflib.unified_diff, before, after, fromfile=old, tofile=new)
        return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in made)


def translate_tree(
    paths: AnyPaths, target: Target, *, output_path: AnyPath | None = None, strings: bool = False,
    on_left: Callable[[Skipped], None] = lambda _: None,
) -> Iterator[Translated]:  # fmt: skip
    """Each C, C++ and CUDA file below the paths, sorted. With `output_path`, their trees are laid out there.

    .cu files become .hip there, and includes of them follow. Without it, files keep their names. What lies in
    `output_path` is no input. `on_left` gets each file that is left as it is though it is to be translated: too large
    ones, links to nowhere and folders that cannot be listed, which are not among the results, and such as are not text
    of 8 bits. Raises UsageError where two files would
    go to one place, or one over its own source; FileError for a path that is not there.
    """
    places: dict[Path, str] = {}
    output_path = None if output_path is None else make_path(output_path)
    for root in list_paths(paths):
        if output_path is not None and root.is_dir() and output_path.resolve() == root.resolve():
            raise UsageError(f"{root} is both what is read and where the result goes", hint="--in-place, or another -o")
        for file in find_files([root], partial(_tell_closed, on_left), left_out=output_path):
            if file.language != "cuda":
                continue
            if file.size_bytes > LARGEST_BYTES:
                limit = LARGEST_BYTES // 1024 // 1024
                on_left(Skipped(path=file.path, reason=f"it is larger than {limit} MB; split it"))
                continue
            place = _find_place(Path(file.path), root, output_path)
            if other := places.get(place):
                raise UsageError(f"{file.path} and {other} would both become {place}", hint="translate them apart")
            if output_path is not None and place.resolve() == Path(file.path).resolve():
                raise UsageError(f"{file.path} would be written over", hint="--in-place, or another folder for -o")
            places[place] = file.path
            done = _translate_file(file, place, target, strings=strings, renames_sources=output_path is not None)
            if reason := "" if done.count else find_obstacle(done.before, done.path):
                on_left(Skipped(path=file.path, reason=reason))
            yield done


def _tell_closed(on_left: Callable[[Skipped], None], error: OSError) -> None:
    """Of a kind that is translated, or a folder."""
    if find_language(Path(str(error.filename))) in {"", "cuda"}:
        on_left(skip_closed(error))


def _find_place(path: Path, root: Path, output_path: Path | None) -> Path:
    if output_path is None:
        return path
    place = output_path / (path.relative_to(root) if path != root else path.name)
    return place.with_suffix(".hip") if place.suffix == ".cu" else place


def _translate_file(
    file: Candidate, place: Path, target: Target, *, strings: bool, renames_sources: bool
) -> Translated:
    before = Path(file.path).read_bytes()
    renamed = rename(before, Path(file.path), strings=strings, renames_sources=renames_sources)
    scanned: Scanned | Skipped = scan_bytes(renamed.content, file, target)
    return Translated(
        path=Path(file.path), output_path=place, before=before, content=renamed.content, count=renamed.count,
        findings=scanned.report.findings if isinstance(scanned, Scanned) else (),
    )  # fmt: skip


def write_files(files: Iterable[Translated]) -> None:
    """Each appears whole or not at all, with the mode of the file it comes from. In place, a link stays one."""
    for file in files:
        place = file.path.resolve() if file.output_path == file.path else file.output_path
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(file.content)
            Path(name).chmod(file.path.stat().st_mode & 0o777)
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _quote(side: bytes, path: Path) -> bytes:
    """A name as git writes it: what would end a line or a name is escaped, and then it stands in quotes."""
    name = side + os.fsencode(path).lstrip(b"/")
    shown = _UNSAFE.sub(lambda match: b"\\%03o" % ord(match[0]), name)
    return b'"' + shown + b'"' if shown != name else name
