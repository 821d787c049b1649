"""Files to inspect → Scan: the tree as data, with all that the audits ask of its files. Several processes at once."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rockiln.audit.inspect_file import NOTHING, FileFacts, Wanted, inspect_file
from rockiln.audit.installed.tree import Node, Tree
from rockiln.audit.leak_words import Leak
from rockiln.console import Console, Progress

_BATCH_BYTES = 8 << 20
_BATCH_FILES = 400
_ALONE_BYTES = 256 << 20
"""Below this a second process costs more than it saves."""


class HostFile(NamedTuple):
    """A file of the image, and where its bytes are on this host."""

    path: str
    size_bytes: int
    host_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an image says of itself besides its files; empty for a bare tree."""

    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One tree, looked at once. Every audit is a function of this."""

    subject: str
    tree: Tree
    targets: Mapping[str, tuple[str, ...]]
    """Path of each file with device code → targets such as `gfx90a:xnack+`."""
    leaks: tuple[Leak, ...]
    faults: Mapping[str, str]
    """Path → why the file could not be read."""
    settings: Settings = field(default_factory=Settings)
    needles: tuple[str, ...] = ()
    """Hosts that no image should name."""
    has_settings: bool = False
    """False for a bare tree: what it would be started with is not known."""


def inspect_files(
    files: Sequence[HostFile], wanted: Wanted, jobs: int, console: Console, title: str
) -> dict[str, FileFacts]:
    """Facts by path; paths without any are left out."""
    total = sum(file.size_bytes for file in files)
    with console.progress(f"audit {title}", total, "bytes") as progress:
        batches = _make_batches(files)
        if jobs == 1 or total < _ALONE_BYTES:
            return _collect((_inspect_batch(wanted, batch) for batch in batches), batches, progress)
        executor = ProcessPoolExecutor(jobs, multiprocessing.get_context("forkserver"), ignore_interrupt)
        try:
            return _collect(executor.map(partial(_inspect_batch, wanted), batches), batches, progress)
        finally:
            executor.shutdown(cancel_futures=True)


def make_scan(
    subject: str, nodes: Mapping[str, Node], facts: Mapping[str, FileFacts], wanted: Wanted,
    settings: Settings | None = None, *, more_leaks: Iterable[Leak] = (), faults: Mapping[str, str] | None = None,
) -> Scan:  # fmt: skip
    """Put nodes and facts together."""
    nodes, facts = _name_by_first(nodes, facts)
    hashed = {
        path: node._replace(sha256=facts[path].sha256) if path in facts and facts[path].sha256 else node
        for path, node in nodes.items()
    }
    tree = Tree(
        nodes=hashed,
        elves={path: one.elf for path, one in facts.items() if one.elf},
        texts={path: one.text for path, one in facts.items() if one.text is not None},
    )
    leaks = tuple(dict.fromkeys((*(leak for one in facts.values() for leak in one.leaks), *more_leaks)))
    return Scan(
        subject=subject, tree=tree, targets={path: one.targets for path, one in facts.items() if one.targets},
        leaks=leaks, faults={**{path: one.fault for path, one in facts.items() if one.fault}, **(faults or {})},
        settings=settings or Settings(), needles=wanted.needles, has_settings=settings is not None,
    )  # fmt: skip


def _name_by_first(
    nodes: Mapping[str, Node], facts: Mapping[str, FileFacts]
) -> tuple[dict[str, Node], dict[str, FileFacts]]:
    """Of several names of one file the first in order is the file, and the others are links to it, however it was
    packed: so a folder and the image that was made of it give the same findings."""
    named, moved = dict(nodes), dict(facts)
    links: dict[str, list[str]] = {}
    for path, node in nodes.items():
        if node.kind == "hardlink":
            links.setdefault(node.link, []).append(path)
    for path, others in links.items():
        first = min(path, *others)
        if first != path and path in named:
            named[first] = named[path]._replace(path=first)
            for other in {path, *others} - {first}:
                named[other] = Node(other, "hardlink", named[first].mode, 0, first, "")
            if path in moved:
                moved[first] = moved.pop(path)
    return named, moved


def _make_batches(files: Sequence[HostFile]) -> list[tuple[HostFile, ...]]:
    """The largest first, alone; many small ones together."""
    batches, batch, size_bytes = [], [], 0
    for file in sorted(files, key=lambda file: (-file.size_bytes, file.path)):
        batch.append(file)
        size_bytes += file.size_bytes
        if size_bytes >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            batches.append(tuple(batch))
            batch, size_bytes = [], 0
    return [*batches, tuple(batch)]


def _inspect_batch(wanted: Wanted, batch: Sequence[HostFile]) -> list[tuple[str, FileFacts]]:
    found = []
    for file in batch:
        facts = _inspect_one(file, wanted)
        if facts != NOTHING:
            found.append((file.path, facts))
    return found


def _inspect_one(file: HostFile, wanted: Wanted) -> FileFacts:
    try:
        with Path(file.host_path).open("rb") as opened:
            return inspect_file(file.path, file.size_bytes, opened, wanted)
    except OSError as fault:
        return FileFacts(fault=f"cannot be read: {fault.strerror}")


def _collect(
    results: Iterable[list[tuple[str, FileFacts]]], batches: Sequence[Sequence[HostFile]], progress: Progress
) -> dict[str, FileFacts]:
    facts: dict[str, FileFacts] = {}
    for found, batch in zip(results, batches, strict=True):
        facts.update(found)
        progress.advance(sum(file.size_bytes for file in batch))
    return facts


def ignore_interrupt() -> None:
    """For workers: Ctrl-C is for the process that has them; they end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
