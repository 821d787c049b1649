"""Rootfs + the archs of its target → Rootfs without code and data for other GPUs; what became of each file.

Whole files of kernel data go first, then fat binaries and bundles are cut, each proven before it is kept. Results of
cuts are remembered by what was cut, for which archs, and by which version of the code that cuts.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import rockiln.fatbin
import rockiln.kernel_data
from rockiln.console import Console
from rockiln.contents import Content, Contents
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.cut import Cut
from rockiln.fatbin.judge_files import describe_decision
from rockiln.fatbin.slim_file import FAT_BINARY, Form, Outcome, slim_open_file, write_proven
from rockiln.fatbin.writer_versions import list_writer_versions
from rockiln.installed_lists import change_contents
from rockiln.kernel_data.content import HEAD_BYTES, sniff
from rockiln.kernel_data.decision import Decision, Drop, form_of
from rockiln.kernel_data.judge import is_candidate, judge
from rockiln.kernel_data.settle import settle
from rockiln.manifest import Entry
from rockiln.rootfs import Rootfs
from rockiln.sealed import read_sealed, write_sealed
from rockiln.slim import add_emptied_folders, remove_paths
from rockiln.source_tree import hash_tree

OTHER_ARCHS = "other-archs"
"""Rule of files that were dropped whole."""

_LEAST_ELF_BYTES = 8192
"""A smaller file has no page to give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlimmedFile:
    """What became of one file that holds code, or data about code, for GPUs."""

    path: str
    owner: str
    rule: str
    """Kind of data: "fat-binary", "rocblas", "miopen", …"""
    outcome: Outcome
    before_bytes: int
    after_bytes: int
    reason: str = ""
    kept: Mapping[str, int] = field(default_factory=dict)
    """Target → bytes of code, unpacked; for kernel data of one target, the file's own size."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Archs of the image that the file never held code for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slimmed:
    """The tree that is left, and a row for each file that was looked at, by path."""

    rootfs: Rootfs
    files: tuple[SlimmedFile, ...] = ()


def slim_archs(
    rootfs: Rootfs, archs: Iterable[str], contents: Contents, cache_path: Path, jobs: int, console: Console
) -> Slimmed:
    """The tree for `archs` only; as it is where there are none. Raises IntegrityError for damaged contents."""
    wanted = frozenset(archs)
    if not wanted:
        return Slimmed(rootfs=rootfs)
    fat, decisions = _look(rootfs.entries, wanted, contents)
    dropped = {path: OTHER_ARCHS for path, decision in decisions.items() if isinstance(decision, Drop)}
    dropped |= dict.fromkeys(_find_links(rootfs.entries, dropped), OTHER_ARCHS)
    left = remove_paths(rootfs, add_emptied_folders(rootfs.entries, dropped), contents)
    data: list[tuple[Entry, Form]] = [
        (rootfs.entries[path], form) for path, decision in decisions.items() if (form := form_of(decision))
    ]
    cutter = _Cutter(wanted, contents, cache_path)
    results = cutter.cut_all([*((entry, "elf") for entry in fat), *data], jobs, console)
    changed = {path: content for path, (content, _) in results.items() if content}
    entries = change_contents(left.entries, changed, contents) if changed else left.entries
    rows = {path: _describe(rootfs.entries[path], decision) for path, decision in decisions.items()}
    rows |= {
        path: replace(row, rule=rows[path].rule if path in rows else FAT_BINARY) for path, (_, row) in results.items()
    }
    return Slimmed(rootfs=replace(left, entries=entries), files=tuple(rows[path] for path in sorted(rows)))


def _find_links(entries: Mapping[str, Entry], dropped: Mapping[str, str]) -> Iterator[str]:
    """Symlinks that would lead nowhere."""
    for path, entry in entries.items():
        if entry.kind == "symlink":
            target = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), entry.link))
            if target.lstrip("/") in dropped:
                yield path


def _look(
    entries: Mapping[str, Entry], archs: frozenset[str], contents: Contents
) -> tuple[list[Entry], dict[str, Decision]]:
    """Fat binaries, perhaps; and what becomes of each file of kernel data."""
    fat: list[Entry] = []
    decisions: dict[str, Decision] = {}
    for path, entry in entries.items():
        if entry.kind != "file":
            continue
        with contents.open(entry.sha256) as file:
            head = file.read(HEAD_BYTES)
            if is_candidate(path, head):
                decision = judge(f"/{path}", ByteSource(file.fileno()), archs)
                decisions |= {path: decision} if decision else {}
            elif sniff(head) == "host-elf" and entry.size_bytes >= _LEAST_ELF_BYTES:
                fat.append(entry)
    return fat, settle(decisions, lambda path: contents.read_bytes(entries[path].sha256))


def _describe(entry: Entry, decision: Decision) -> SlimmedFile:
    """The row of a file that is not cut."""
    row = describe_decision(Path(entry.path), entry.size_bytes, decision)
    return SlimmedFile(
        path=entry.path, owner=entry.owner, rule=row.rule, outcome=row.outcome, before_bytes=row.before_bytes,
        after_bytes=row.after_bytes, kept=row.kept, dropped=row.dropped, reason=row.reason,
    )  # fmt: skip


Result = tuple[Content | None, SlimmedFile]


class _Cutter:
    """Cuts contents for one set of archs, each content once, however many paths have it."""

    def __init__(self, archs: frozenset[str], contents: Contents, cache_path: Path) -> None:
        self._archs, self._contents = archs, contents
        key = hashlib.sha256("\0".join((hash_code(), *sorted(archs))).encode()).hexdigest()[:16]
        self._folder, self._key = cache_path / "slimmed", key

    def cut_all(self, wanted: list[tuple[Entry, Form]], jobs: int, console: Console) -> dict[str, Result]:
        """By path; a file without device code is not in it."""
        forms = {entry.sha256: (entry, form) for entry, form in wanted}
        total = sum(entry.size_bytes for entry, _ in forms.values())
        with console.progress("cutting", total, "bytes") as progress, ThreadPoolExecutor(jobs) as executor:

            def cut(one: tuple[Entry, Form]) -> tuple[str, dict[str, Any] | None]:
                record = self._recall(*one)
                progress.advance(one[0].size_bytes)
                return one[0].sha256, record

            largest_first = sorted(forms.values(), key=lambda one: (-one[0].size_bytes, one[0].path))
            records = dict(executor.map(cut, largest_first))
        rows = ((entry, records[entry.sha256]) for entry, _ in wanted)
        return {entry.path: _restore(entry, record) for entry, record in rows if record}

    def _recall(self, entry: Entry, form: Form) -> dict[str, Any] | None:
        """The record of a cut, made now or earlier; None for a file without device code."""
        path = self._folder / f"{entry.sha256}-{self._key}.json"
        if known := read_sealed(path):
            record: dict[str, Any] = json.loads(known)
            if record["content"] is None or self._contents.holds(*record["content"]):
                return record
        with self._contents.open(entry.sha256) as file:
            made = self._cut(entry, file, form)
        if made is not None:
            write_sealed(path, json.dumps(made).encode())
        return made

    def _cut(self, entry: Entry, file: BinaryIO, form: Form) -> dict[str, Any] | None:
        kept: list[Content] = []

        def write(cut: Cut) -> None:
            self._contents.check(entry.sha256)  # what is made of a damaged file would look like any other

            def write_at(new: int) -> None:
                write_proven(cut, file.fileno(), new, self._archs, form)

            kept.append(self._contents.put_written(write_at))

        result = slim_open_file(Path(entry.path), file, self._archs, write, form)
        if result is None:
            return None
        fields = ("outcome", "before_bytes", "after_bytes", "reason", "missing")
        row = {name: getattr(result, name) for name in fields}
        return {"content": kept[0] if kept else None, "row": {**row, "kept": result.kept, "dropped": result.dropped}}


def _restore(entry: Entry, record: Mapping[str, Any]) -> Result:
    row = {**record["row"], "missing": tuple(record["row"]["missing"])}
    content = Content(*record["content"]) if record["content"] else None
    return content, SlimmedFile(path=entry.path, owner=entry.owner, rule=FAT_BINARY, **row)


@cache
def hash_code() -> str:
    """Hash of what decides about a cut: a changed cutter or verifier cuts anew, and so does another compressor."""
    folders = (Path(path) for package in (rockiln.fatbin, rockiln.kernel_data) for path in package.__path__)
    return "\0".join((*map(hash_tree, folders), *list_writer_versions()))
