"""Scan + Promises → findings about how things are loaded: names for dlopen, RUNPATHs, variables, the loader's cache."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rockiln.audit.finding import Finding, Severity
from rockiln.audit.installed.loader import CACHE_PATH, Loader
from rockiln.audit.installed.tree import Tree
from rockiln.audit.promises import Promises
from rockiln.audit.rules import find, name_some
from rockiln.audit.scan import Scan

LIBRARY_PATH = "LD_LIBRARY_PATH"
OPENED: Mapping[str, Severity] = {
    "libnuma": "error",  # PyTorch: https://github.com/pytorch/pytorch/pull/195672
    "libroctx64": "error",  # https://github.com/YanWenKun/ComfyUI-Docker/issues/154
    "libamd_comgr": "error",  # the HIP runtime: without it nothing that is compiled at run time
    "librocsparse": "error",  # rocSOLVER and hipSOLVER: their sparse functions
    "libamdhip64": "error",
    "libhiprtc": "error",
    "libhsa-runtime64": "error",
}
"""Libraries of which it is known what breaks when dlopen does not find them; others are tried and done without."""

DONE_WITHOUT = frozenset({"libamdhip64", "libhsa-runtime64"})
"""hipRTC and RCCL ask for these by the name of the -dev package: only a fault where there is none of any name."""

_UNSAFE = re.compile(r"(?:tmp|var/tmp|dev/shm|home)(?:/.*)?")
"""Where others than root may put a library, in this image or on the host of a mount."""
_STEM = re.compile(r"(?P<stem>.+?)\.so(?:\.[0-9]+)*")
_CONF = re.compile(r"etc/ld\.so\.conf(?:\.d/[^/]+\.conf)?")


def audit_loading(scan: Scan, promises: Promises) -> Iterator[Finding]:
    """Everything about loading that is no DT_NEEDED."""
    loader = Loader(scan.tree, scan.settings.env.get(LIBRARY_PATH, ""))
    if promises.is_rocm:
        yield from _find_unopenable(scan.tree, loader, promises)
    yield from _find_runpaths(scan.tree, loader)
    yield from _find_interpreters(scan.tree)
    yield from _find_stale_cache(scan.tree, loader)
    for path, fault in sorted(scan.faults.items()):
        yield find("unreadable", path, fault)
    if value := scan.settings.env.get(LIBRARY_PATH, ""):
        yield find("library-path-set", "", f"{LIBRARY_PATH}={value}")


def _find_unopenable(tree: Tree, loader: Loader, promises: Promises) -> Iterator[Finding]:
    """Of the names that a file has for one library, one must lead somewhere."""
    for path, facts in sorted(tree.elves.items()):
        by_stem: dict[str, list[str]] = defaultdict(list)
        for name in facts.opens:
            if (matched := _STEM.fullmatch(name)) and matched["stem"] in OPENED:
                by_stem[matched["stem"]].append(name)
        for stem, names in sorted(by_stem.items()):
            if not any(loader.find_opened(name, path) for name in names) and not _is_itself(facts.soname, stem):
                is_here = stem in DONE_WITHOUT and any(name.startswith(f"{stem}.so") for name in loader.cache)
                yield _judge_unopenable(path, names, promises, "note" if is_here else OPENED[stem])


def _is_itself(soname: str, stem: str) -> bool:
    return soname.startswith(f"{stem}.so")


def _judge_unopenable(path: str, names: Sequence[str], promises: Promises, severity: Severity) -> Finding:
    evidence = f"opens {' or '.join(names)}"
    if reason := next((promises.absent[name] for name in names if name in promises.absent), ""):
        return find("dlopen-missing", path, evidence, severity="expected", reason=reason)
    return find("dlopen-missing", path, evidence, severity=severity)


def _find_runpaths(tree: Tree, loader: Loader) -> Iterator[Finding]:
    """Entries by which somebody else's library could be loaded, and entries that lead nowhere."""
    unsafe: dict[str, list[str]] = defaultdict(list)
    nowhere: dict[str, list[str]] = defaultdict(list)
    for path, facts in sorted(tree.elves.items()):
        for entry in dict.fromkeys((*facts.rpath, *facts.runpath)):
            folder = loader.expand(entry, path)
            if not folder or _UNSAFE.fullmatch(folder):
                unsafe[entry].append(path)
            elif not entry.startswith("$") and tree.resolve(folder) is None:
                nowhere[entry].append(path)
    for rule, entries in (("runpath-unsafe", unsafe), ("runpath-nowhere", nowhere)):
        for entry, paths in sorted(entries.items()):
            yield find(rule, paths[0], f"{entry!r}, of {len(paths)} files: {name_some([f'/{path}' for path in paths])}")


def _find_interpreters(tree: Tree) -> Iterator[Finding]:
    for path, facts in sorted(tree.elves.items()):
        if facts.interpreter and tree.find_file(facts.interpreter) is None:
            yield find("interpreter-missing", path, f"asks for {facts.interpreter}")


def _find_stale_cache(tree: Tree, loader: Loader) -> Iterator[Finding]:
    if not any(_CONF.fullmatch(path) for path in tree.nodes):
        return
    if not loader.cache:
        yield find("loader-cache-stale", CACHE_PATH, "there is no cache, or it names nothing")
        return
    for folder in _configured_folders(tree):
        names = [name for name in tree.list_folder(folder) if _is_uncached(tree, loader, folder, name)]
        if names:
            yield find("loader-cache-stale", folder.strip("/"), f"the cache lacks {name_some(names)}")


def _is_uncached(tree: Tree, loader: Loader, folder: str, name: str) -> bool:
    real = tree.find_file(posixpath.join(folder, name))
    facts = tree.elves.get(real) if real else None
    return facts is not None and facts.soname == name and name not in loader.cache


def _configured_folders(tree: Tree) -> Iterator[str]:
    for path in sorted(tree.nodes):
        if _CONF.fullmatch(path):
            lines = (tree.read(path) or b"").decode("utf-8", "replace").splitlines()
            words = (line.partition("#")[0].strip() for line in lines)
            yield from (word for word in words if word.startswith("/"))
