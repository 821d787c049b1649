"""A file or folder + the archs to keep → SlimReport: less device code, and installers' lists corrected."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rockiln.console import Console, Progress, printable
from rockiln.disk import disk_faults_named
from rockiln.errors import DiskError, UsageError
from rockiln.fatbin.copy_tree import COPY_HINT, copied_folder, copy_file
from rockiln.fatbin.judge_files import JudgedFile, judge_files
from rockiln.fatbin.ledgers import ByPath, Sums, correct_ledgers, find_blocked, hash_descriptor
from rockiln.fatbin.notes import note_path, read_notes, remove_notes, write_note
from rockiln.fatbin.slim_file import FAT_BINARY, FileResult, Form, slim_file
from rockiln.fatbin.walk import Found, Tree, remove_leftovers, walk_file, walk_tree
from rockiln.fatbin.write_cut import BESIDE_HINT, partial_path
from rockiln.tables import suggest

_WRITABLE = "make it writable for this user, or write a copy with --output PATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlimReport:
    """What was looked at, and what became of each file with device code."""

    path: Path
    output_path: Path
    archs: tuple[str, ...]
    is_dry_run: bool
    elf_files: int
    data_files: int
    """Files of kernel data outside of ELF files for the host."""
    archives: tuple[Path, ...]
    """Wheels, debs and the like, which were not looked into."""
    files: tuple[FileResult, ...]
    corrected: tuple[Path, ...]
    """Lists of installers (RECORD, md5sums) that were rewritten."""

    @property
    def freed_bytes(self) -> int:
        return sum(one.before_bytes - one.after_bytes for one in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlimOptions:
    """How to go about it."""

    archs: frozenset[str]
    jobs: int
    is_dry_run: bool = False


def slim_in_place(path: Path, options: SlimOptions, console: Console) -> SlimReport:
    """Replace each file by its smaller self, one at a time and whole; then remove what is for other GPUs only."""
    path = path.resolve()
    return _slim(path, path, options, console)


def _slim(path: Path, named_path: Path, options: SlimOptions, console: Console) -> SlimReport:
    """`named_path`: what `path` is called, where it is a copy on its way."""
    tree = _walk(path, named_path)
    if not options.is_dry_run and path.is_dir():
        remove_leftovers(path)
    judged = judge_files(tree.data_files, path, named_path, options.archs)
    work = _Work(tree, judged, options, console)
    work.require_true_lists()
    results: tuple[FileResult, ...] = ()
    corrected: tuple[Path, ...] = ()
    going: ByPath = {}
    try:
        results = work.slim_all()
        going = work.going()
    finally:
        if not options.is_dry_run:  # interrupted or not: what was replaced is in the lists
            known = {**read_notes(tree.note_paths), **work.replaced(), **going}
            corrected = correct_ledgers(path, tree.record_paths, known)
            remove_notes((*tree.note_paths, *map(note_path, work.announced())))
    if not options.is_dry_run:
        _remove_files(map(Path, going))
    return _report(path, path, tree, options, results, corrected)


def _remove_files(paths: Iterable[Path]) -> None:
    """After their lines in the lists: a run that is killed in between finds them again, and then they go."""
    for path in paths:
        with disk_faults_named(path, hint=_WRITABLE):
            path.unlink()


def slim_copy(path: Path, output_path: Path, options: SlimOptions, console: Console) -> SlimReport:
    """Leave `path` as it is and make a smaller copy of it."""
    path, output_path = path.resolve(), output_path.absolute()
    if output_path.exists() or output_path.is_symlink():
        raise UsageError(f"{printable(str(output_path))} exists", hint="name a path for --output that is not there yet")
    if output_path.resolve().is_relative_to(path):
        raise UsageError(printable(f"{output_path} is inside {path}"), hint="name a path for --output outside of it")
    if options.is_dry_run:
        return replace(slim_in_place(path, options, console), output_path=output_path)
    with disk_faults_named(output_path, hint=COPY_HINT):
        output_path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_dir():
            return _slim_one_copy(path, output_path, options)
    with copied_folder(path, output_path, _link_or_copy()) as copy:
        report = _slim(copy, path, options, console)
    return _rename(report, copy, path, output_path)


def _slim_one_copy(path: Path, output_path: Path, options: SlimOptions) -> SlimReport:
    """A single file never goes: `settle` finds nothing beside it."""
    tree = _walk(path, path)
    judged = dict(judge_files(tree.data_files, path, path, options.archs))
    one = next(iter(judged.values()), None)
    if one is None or one.form:
        result = slim_file(path, output_path, options.archs, form=one.form or "elf" if one else "elf")
    else:
        result = one.result
    if result is None or result.outcome != "slimmed":
        copy_file(path, partial_path(output_path))
        partial_path(output_path).replace(output_path)
    return _report(path, output_path, tree, options, (result,) if result else (), ())


def _link_or_copy() -> Callable[[Path, Path], None]:
    """Copies files; names that were one file before are one file again."""
    seen: dict[tuple[int, int], Path] = {}

    def place(source: Path, destination: Path) -> None:
        facts = source.stat()
        first = seen.setdefault((facts.st_dev, facts.st_ino), destination)
        if first == destination:
            copy_file(source, destination)
        else:
            destination.hardlink_to(first)

    return place


def _rename(report: SlimReport, copy: Path, path: Path, output_path: Path) -> SlimReport:
    """The report with the names that the files have in the end."""
    files = tuple(replace(one, path=output_path / one.path.relative_to(copy)) for one in report.files)
    corrected = tuple(
        output_path / one.relative_to(copy) if one.is_relative_to(copy) else one for one in report.corrected
    )
    archives = tuple(output_path / one.relative_to(copy) for one in report.archives)
    return replace(report, path=path, output_path=output_path, files=files, corrected=corrected, archives=archives)


def _walk(path: Path, named_path: Path) -> Tree:
    if path.is_dir():
        return walk_tree(path, named_path)
    if path.is_file():
        return walk_file(path)
    raise UsageError(f"{printable(str(path))} is no file or folder", hint=_suggest_path(path))


def _suggest_path(path: Path) -> str:
    """What is called nearly so, where the path stops to be."""
    missing = next((one for one in (*reversed(path.parents), path) if not one.exists()), path)
    try:
        nearest = suggest(missing.name, (one.name for one in missing.parent.iterdir()))
    except OSError as fault:
        nearest = f": {fault.strerror}"
    return printable(f"{missing.parent} holds no {missing.name}{nearest}")


class _Work:
    """All files of a tree, several at a time; knows which were replaced and removed when it is stopped."""

    def __init__(
        self, tree: Tree, judged: tuple[tuple[Found, JudgedFile], ...], options: SlimOptions, console: Console
    ) -> None:
        self._tree, self._judged, self._options, self._console = tree, judged, options, console
        self._to_cut: list[tuple[Found, Form, str]] = [(found, "elf", FAT_BINARY) for found in tree.elf_files]
        self._to_cut += [(found, one.form, one.result.rule) for found, one in judged if one.form]
        self._sums: dict[Path, Sums] = {}
        self._replaced: set[Path] = set()

    def slim_all(self) -> tuple[FileResult, ...]:
        total = sum(found.size_bytes for found, _, _ in self._to_cut)
        with (
            self._console.progress("slimming", total, "bytes") as progress,
            ThreadPoolExecutor(self._options.jobs) as executor,
        ):
            largest_first = sorted(self._to_cut, key=lambda one: -one[0].size_bytes)
            futures = [executor.submit(self._slim, *one, progress) for one in largest_first]
            try:
                results = [result for future in futures if (result := future.result())]
            except BaseException:
                _cancel(futures)
                raise
        results += [one.result for _, one in self._judged if not one.form]
        return tuple(sorted(results, key=lambda one: one.path))

    def require_true_lists(self) -> None:
        """Raise DiskError, before anything is changed, where a list could not be corrected or a file not removed."""
        if self._options.is_dry_run:
            return
        going = [Path(path) for path in self.going()]
        paths = [*going, *(path for found, _, _ in self._to_cut for path in found.paths)]
        blocked = find_blocked(self._tree.root, self._tree.record_paths, paths)
        stuck = [path for path in going if not os.access(path.parent, os.W_OK | os.X_OK)]
        if stuck:
            raise DiskError(f"{printable(str(stuck[0]))}: cannot be removed", hint=_WRITABLE)
        to_cut = (found.paths for found, form, _ in self._to_cut if self._would_cut(found, form, blocked))
        for path in (*going, *(path for paths in to_cut for path in paths)):
            if obstacle := blocked.get(str(path)):
                raise DiskError(f"{printable(obstacle)}, but names {printable(str(path))}", hint=_WRITABLE)

    def _would_cut(self, found: Found, form: Form, blocked: Mapping[str, str]) -> bool:
        """Only asked in earnest of files whose lists are out of reach: it costs half a cut."""
        if not any(str(path) in blocked for path in found.paths):
            return False
        result = slim_file(found.paths[0], found.paths[0], self._options.archs, form=form, dry_run=True)
        return result is not None and result.outcome == "slimmed"

    def replaced(self) -> dict[str, Sums]:
        return {str(path): self._sums[path] for path in self._replaced}

    def announced(self) -> Iterable[Path]:
        """Files about which a note was written."""
        return tuple(self._sums)

    def going(self) -> ByPath:
        """What is for other GPUs only, by all its names."""
        judged = ((found, one.result) for found, one in self._judged if not one.form)
        return {str(path): None for found, result in judged if result.outcome == "dropped" for path in found.paths}

    def _announce(self, found: Found, descriptor: int) -> None:
        sums = hash_descriptor(descriptor)
        for path in found.paths:
            self._sums[path] = sums
            with disk_faults_named(path, hint=BESIDE_HINT):
                write_note(path, sums)

    def _slim(self, found: Found, form: Form, rule: str, progress: Progress) -> FileResult | None:
        first, *others = found.paths
        try:
            result = slim_file(
                first, first, self._options.archs, form=form, dry_run=self._options.is_dry_run,
                announce=partial(self._announce, found),
            )  # fmt: skip
        except PermissionError as fault:
            size = found.size_bytes
            reason = f"cannot be read: {fault.strerror}"
            result = FileResult(path=first, outcome="refused", before_bytes=size, after_bytes=size, reason=reason)
        if result and result.outcome == "slimmed" and not self._options.is_dry_run:
            self._replaced.add(first)
            _link_again(first, others)
            self._replaced.update(others)
        progress.advance(found.size_bytes)
        return replace(result, rule=rule) if result else None


def _cancel(futures: Iterable[Future[FileResult | None]]) -> None:
    for future in futures:
        future.cancel()


def _link_again(first: Path, others: Iterable[Path]) -> None:
    """The other names of the file that was replaced."""
    for other in others:
        link = partial_path(other)
        link.unlink(missing_ok=True)
        link.hardlink_to(first)
        link.replace(other)


def _refuse_archive(tree: Tree, path: Path) -> tuple[FileResult, ...]:
    """The row of an archive that was named itself; those in a tree are only counted."""
    if tree.archives != (tree.root,):
        return ()
    size = path.stat().st_size
    reason = "is an archive: unpack it first"
    row = FileResult(path=path, outcome="refused", before_bytes=size, after_bytes=size, reason=reason, rule="archive")
    return (row,)


def _report(
    path: Path,
    output_path: Path,
    tree: Tree,
    options: SlimOptions,
    results: tuple[FileResult, ...],
    corrected: tuple[Path, ...],
) -> SlimReport:
    return SlimReport(
        path=path, output_path=output_path, archs=tuple(sorted(options.archs)), is_dry_run=options.is_dry_run,
        elf_files=len(tree.elf_files), data_files=len(tree.data_files), archives=tree.archives,
        files=results or _refuse_archive(tree, output_path), corrected=corrected,
    )  # fmt: skip
