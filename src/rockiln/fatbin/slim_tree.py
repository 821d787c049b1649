"""A file or folder + the archs to keep → SlimReport: its fat files slimmed, the lists of installers corrected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from rockiln.console import Console, Progress
from rockiln.errors import UsageError
from rockiln.fatbin.copy_tree import copied_folder, copy_file
from rockiln.fatbin.ledgers import correct_ledgers
from rockiln.fatbin.slim_file import FileResult, slim_file
from rockiln.fatbin.walk import Found, Tree, remove_leftovers, walk_file, walk_tree
from rockiln.fatbin.write_cut import partial_path


@dataclass(frozen=True, slots=True, kw_only=True)
class SlimReport:
    """What was looked at, and what became of each file with device code."""

    path: Path
    output_path: Path
    archs: tuple[str, ...]
    is_dry_run: bool
    elf_files: int
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
    """Replace each file by its smaller self, one at a time and whole."""
    path = path.resolve()
    tree = _walk(path)
    if not options.is_dry_run and path.is_dir():
        remove_leftovers(path)
    work = _Work(tree, options, console)
    results: tuple[FileResult, ...] = ()
    corrected: tuple[Path, ...] = ()
    try:
        results = work.slim_all()
    finally:
        if not options.is_dry_run:  # interrupted or not: what was replaced is in the lists
            corrected = correct_ledgers(path, tree.record_paths, work.replaced())
    return _report(path, path, tree, options, results, corrected)


def slim_copy(path: Path, output_path: Path, options: SlimOptions, console: Console) -> SlimReport:
    """Leave `path` as it is and make a smaller copy of it."""
    path, output_path = path.resolve(), output_path.absolute()
    if output_path.exists() or output_path.is_symlink():
        raise UsageError(f"{output_path} exists", hint="name a path for --output that is not there yet")
    if output_path.resolve().is_relative_to(path):
        raise UsageError(f"{output_path} is inside {path}", hint="name a path for --output outside of it")
    if options.is_dry_run:
        return replace(slim_in_place(path, options, console), output_path=output_path)
    output_path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_dir():
        return _slim_one_copy(path, output_path, options)
    with copied_folder(path, output_path, _link_or_copy()) as partial:
        report = slim_in_place(partial, options, console)
    return _rename(report, partial, path, output_path)


def _slim_one_copy(path: Path, output_path: Path, options: SlimOptions) -> SlimReport:
    tree = _walk(path)
    result = slim_file(path, output_path, options.archs)
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


def _rename(report: SlimReport, partial: Path, path: Path, output_path: Path) -> SlimReport:
    """The report with the names that the files have in the end."""
    files = tuple(replace(one, path=output_path / one.path.relative_to(partial)) for one in report.files)
    corrected = tuple(
        output_path / one.relative_to(partial) if one.is_relative_to(partial) else one for one in report.corrected
    )
    return replace(report, path=path, output_path=output_path, files=files, corrected=corrected)


def _walk(path: Path) -> Tree:
    if path.is_dir():
        return walk_tree(path)
    if path.is_file():
        return walk_file(path)
    raise UsageError(f"{path} is no file or folder")


class _Work:
    """All files of a tree, several at a time; knows which were replaced when it is stopped."""

    def __init__(self, tree: Tree, options: SlimOptions, console: Console) -> None:
        self._tree, self._options, self._console = tree, options, console
        self._replaced: set[Path] = set()

    def slim_all(self) -> tuple[FileResult, ...]:
        total = sum(found.size_bytes for found in self._tree.elf_files)
        with (
            self._console.progress("slimming", total, "bytes") as progress,
            ThreadPoolExecutor(self._options.jobs) as executor,
        ):
            largest_first = sorted(self._tree.elf_files, key=lambda found: -found.size_bytes)
            futures = [executor.submit(self._slim, found, progress) for found in largest_first]
            try:
                results = [result for future in futures if (result := future.result())]
            except BaseException:
                _cancel(futures)
                raise
        return tuple(sorted(results, key=lambda one: one.path))

    def replaced(self) -> frozenset[Path]:
        return frozenset(self._replaced)

    def _slim(self, found: Found, progress: Progress) -> FileResult | None:
        first, *others = found.paths
        try:
            result = slim_file(first, first, self._options.archs, dry_run=self._options.is_dry_run)
        except PermissionError as fault:
            size = found.size_bytes
            reason = f"cannot be read: {fault.strerror}"
            result = FileResult(path=first, outcome="refused", before_bytes=size, after_bytes=size, reason=reason)
        if result and result.outcome == "slimmed" and not self._options.is_dry_run:
            self._replaced.add(first)
            _link_again(first, others)
            self._replaced.update(others)
        progress.advance(found.size_bytes)
        return result


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
        elf_files=len(tree.elf_files), files=results, corrected=corrected,
    )  # fmt: skip
