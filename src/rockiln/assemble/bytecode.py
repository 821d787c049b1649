"""Modules of debs and wheels → their .pyc files, by the image's own Python: imports are fast, also on a read-only root.

Unchecked-hash .pyc files (PEP 552) hold no time and are never compared with their source, so that their bytes depend
on source, path and interpreter only, and so that no import writes. Answers are kept by artifact: a new wheel compiles
alone.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rockiln.assemble.answers import hash_question, keep_answer, read_answer
from rockiln.assemble.tree import Tree, make_directory
from rockiln.assemble.workshop import CONTENTS, OUT, Workshop
from rockiln.console import Console, Progress
from rockiln.disk import disk_faults_named
from rockiln.manifest import Entry, Unpacked
from rockiln.rootfs import Finding

SCRIPT = "compile_modules.py"
LOOK_S = 0.2
LIST_BYTES = 1 << 20
"""Sources of about this many bytes make one list: lists run in parallel, and are cut the same way everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The modules of one artifact that one interpreter compiles."""

    owner: str
    python: str
    """"3.11": usr/bin/python3.11 compiles."""
    modules: tuple[Entry, ...]
    key: str


def add_bytecode(  # noqa: PLR0913, PLR0917 - what to compile, with what, and how
    tree: Tree, unpacked: Sequence[Unpacked], python: str, dropped: Container[str], workshop: Workshop,
    cache_path: Path, jobs: int, console: Console,
) -> tuple[Tree, tuple[Finding, ...]]:
    """A .pyc beside each module. `python` is the one for which the image's wheels are installed.

    Modules at paths in `dropped` will not be in the image, so nobody waits for their byte code.
    """
    batches = _make_batches(tree, unpacked, python, dropped)
    answers = {batch.key: _recall(tree, cache_path, batch) for batch in batches}
    missing = [batch for batch in batches if answers[batch.key] is None]
    if missing:
        with console.progress("compiling Python modules", sum(len(batch.modules) for batch in missing)) as progress:
            for version in sorted({batch.python for batch in missing}):
                some = [batch for batch in missing if batch.python == version]
                for batch, answer in zip(some, _compile(tree, some, workshop, jobs, progress), strict=True):
                    keep_answer(cache_path, "bytecode", batch.key, answer)
                    answers[batch.key] = answer
    entries = [entry for batch in batches for entry in _entries(batch, answers[batch.key] or {})]
    return tree.adding(entries), tuple(_findings(batches, answers))


def _make_batches(tree: Tree, unpacked: Sequence[Unpacked], python: str, dropped: Container[str]) -> list[Batch]:
    default = tree.resolve("usr/bin/python3").rpartition("/python")[2]
    script = _read_script()
    found = []
    for one in sorted(unpacked, key=lambda one: one.artifact.owner):
        by_python: dict[str, list[Entry]] = {}
        for entry in _modules(tree, one):
            if entry.path in dropped:
                continue
            version = python if one.wheel else _version_of(entry.path, default)
            if f"usr/bin/python{version}" in tree.entries:
                by_python.setdefault(version, []).append(entry)
        for version, modules in sorted(by_python.items()):
            parts = [script, *_interpreter(unpacked, version), *(f"{m.path} {m.sha256}" for m in modules)]
            key = hash_question("bytecode", parts)
            found.append(Batch(owner=one.artifact.owner, python=version, modules=tuple(modules), key=key))
    return found


def _modules(tree: Tree, one: Unpacked) -> list[Entry]:
    """Sorted entries, as they are in the image after edits, of what Debian's and pip's installers compile."""
    if one.wheel:
        paths: Iterable[str] = one.wheel.modules
    else:
        paths = (entry.path for entry in one.entries if entry.path.endswith(".py") and _is_debian_module(entry.path))
    entries = (_source(tree, path) for path in sorted(paths))
    return [entry for entry in entries if entry and entry.owner == one.artifact.owner]


def _source(tree: Tree, path: str) -> Entry | None:
    """The module at `path` with the bytes that it leads to; not what people edit below /etc."""
    entry, file = tree.entries.get(path), tree.find(path)
    if entry is None or file is None or file.kind != "file" or file.path.startswith("etc/"):
        return None
    return file._replace(path=path, owner=entry.owner)


def _is_debian_module(path: str) -> bool:
    return path.startswith(("usr/lib/python3", "usr/share/python3/"))


def _version_of(path: str, default: str) -> str:
    """usr/lib/python3.11/os.py → "3.11"; what all Pythons share is compiled for the default one."""
    name = path.split("/")[2].removeprefix("python")
    return name if "." in name else default


def _interpreter(unpacked: Sequence[Unpacked], version: str) -> list[str]:
    """Hashes of the debs that make up an interpreter."""
    python = f"python{version}"
    names = {python, f"{python}-minimal", f"lib{python}-minimal", f"lib{python}-stdlib"}
    return sorted(one.artifact.sha256 for one in unpacked if one.artifact.name in names)


def _read_script() -> str:
    return resources.files(__package__).joinpath(SCRIPT).read_text(encoding="utf-8")


Answer = Mapping[str, tuple[str, int]]
"""Module path → hash and size of its .pyc; ("", 0) where it does not compile."""


def _recall(tree: Tree, cache_path: Path, batch: Batch) -> Answer | None:
    """An earlier answer, if all its bytes are still in Contents."""
    answer: Answer | None = read_answer(cache_path, "bytecode", batch.key)
    if answer is None or not all(not sha or tree.contents.holds(sha, size) for sha, size in answer.values()):
        return None
    return answer


def _compile(
    tree: Tree, batches: Sequence[Batch], workshop: Workshop, jobs: int, progress: Progress
) -> Iterator[Answer]:
    """All batches of one interpreter in one run of the sandbox."""
    with workshop.out_folder() as out_path:
        with disk_faults_named(out_path):
            lists = [_write_lists(tree, batch, f"{index:04d}", out_path) for index, batch in enumerate(batches)]
            with resources.as_file(resources.files(__package__).joinpath(SCRIPT)) as script_path:
                shutil.copyfile(script_path, out_path / SCRIPT)
        python = f"/usr/bin/python{batches[0].python}"
        counts = {f"{name}.out": len(modules) for parts in lists for name, modules in parts.items()}
        with _telling(progress, out_path, counts):
            workshop.run((python, "-I", "-S", "-B", f"/{OUT}/{SCRIPT}", f"/{OUT}", str(jobs)), out_path)
        for parts in lists:
            yield dict(row for name, modules in parts.items() for row in _take(tree, out_path / f"{name}.out", modules))


@contextmanager
def _telling(progress: Progress, out_path: Path, counts: Mapping[str, int]) -> Iterator[None]:
    """While the sandbox runs, look which lists are done."""
    waiting, is_over = dict(counts), threading.Event()

    def look() -> None:
        while waiting:
            is_last = is_over.wait(LOOK_S)
            for name in [name for name in waiting if (out_path / name).exists()]:
                progress.advance(waiting.pop(name))
            if is_last:
                return

    thread = threading.Thread(target=look, name="compiled-lists", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _write_lists(tree: Tree, batch: Batch, stem: str, out_path: Path) -> Mapping[str, Sequence[Entry]]:
    """The lists of one batch by name; where they are cut depends on the artifact alone."""
    lists: list[list[Entry]] = [[]]
    size_bytes = 0
    for module in batch.modules:
        tree.contents.check(module.sha256)
        if size_bytes > LIST_BYTES:
            lists.append([])
            size_bytes = 0
        lists[-1].append(module)
        size_bytes += module.size_bytes
    named = {f"{stem}-{index:04d}": modules for index, modules in enumerate(lists)}
    for name, modules in named.items():
        lines = (f"/{CONTENTS}/{module.sha256[:2]}/{module.sha256}\t/{module.path}\n" for module in modules)
        (out_path / f"{name}.todo").write_text("".join(lines), encoding="utf-8", errors="surrogateescape")
    return named


def _take(tree: Tree, path: Path, modules: Sequence[Entry]) -> Iterator[tuple[str, tuple[str, int]]]:
    with path.open("rb") as out:
        for module in modules:
            size_bytes = int.from_bytes(out.read(8), "little")
            yield module.path, tree.contents.put_bytes(out.read(size_bytes)) if size_bytes else ("", 0)


def _entries(batch: Batch, answer: Answer) -> Iterator[Entry]:
    tag = f"cpython-{batch.python.replace('.', '')}"
    for module in batch.modules:
        sha256, size_bytes = answer[module.path]
        if sha256:
            folder, _, name = module.path.rpartition("/")
            yield make_directory(f"{folder}/__pycache__", batch.owner)
            path = f"{folder}/__pycache__/{name.removesuffix('.py')}.{tag}.pyc"
            yield Entry(path, "file", 0o644, 0, 0, size_bytes, sha256, "", batch.owner)


def _findings(batches: Iterable[Batch], answers: Mapping[str, Answer | None]) -> Iterator[Finding]:
    for batch in batches:
        failed = [path for path, (sha256, _) in sorted((answers[batch.key] or {}).items()) if not sha256]
        if failed:
            message = f"{len(failed)} of {len(batch.modules)} modules do not compile, for example {failed[0]}"
            yield Finding(rule="not-compiled", owner=batch.owner, message=message)
