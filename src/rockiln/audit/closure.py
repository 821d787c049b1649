"""Scan + Promises → findings about what the dynamic loader would find, refuse or take twice."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from rockiln.audit.finding import Finding
from rockiln.audit.installed.elf_facts import ElfFacts
from rockiln.audit.installed.loader import Loader, Process
from rockiln.audit.installed.tree import Tree
from rockiln.audit.promises import Promises
from rockiln.audit.rules import find, name_some
from rockiln.audit.scan import Scan

LIBRARY_PATH = "LD_LIBRARY_PATH"
SYSTEM_FOLDER = re.compile(r"|usr(?:/local)?|(?:usr/(?:local/)?)?lib(?:32|64|exec)?(?:/x86_64-linux-gnu)?|opt|var|srv")
ROCM_FOLDER = re.compile(r"opt/rocm[^/]*(?:/|$)")
CALLBACKS = {"libthread_db.so.1": b"ps_"}
"""Soname → how names begin that the program which loads it must define: a debugger, proc_service.h of glibc."""
_SITE = re.compile(r".*/(?:site|dist)-packages/")
_ROCM_SONAME = re.compile(
    r"lib(?:amdhip64|amd_smi|amd_comgr|hsa-runtime64|hiprtc|hipblas(?:lt)?|hipfft|hiprand|hipsolver|hipsparse(?:lt)?"
    r"|MIOpen|rccl|roc(?:blas|fft|m_smi64|rand|solver|sparse|tx64|tracer64|profiler.*)|drm_amdgpu)\.so(?:\.[0-9]+)*"
)
_CUDA = re.compile(
    r"lib(?:cuda|cudart|cudnn.*|cublas.*|cufft.*|cufile.*|cupti|curand|cusolver.*|cusparse.*|nccl|nvrtc.*|nvJitLink"
    r"|nvToolsExt|nvidia-.*|nvinfer.*|npp.*|nvjpeg|nvshmem.*|nvperf.*|nvrm.*|checkpoint)\.so(?:\.[0-9]+)*"
)
_CEILINGS = re.compile(r"(?P<family>GLIBC|GLIBCXX|CXXABI|GCC|GLIBC_ABI)_(?P<version>[0-9.]+)")


class Closure:
    """Every program and library of a tree, loaded in thought."""

    def __init__(self, scan: Scan) -> None:
        self.tree = scan.tree
        self.loader = Loader(scan.tree, scan.settings.env.get(LIBRARY_PATH, ""))
        self.processes = {path: self.loader.start(path) for path in sorted(scan.tree.elves)}
        self.found = self._find_all()
        self.sonames = _index_sonames(scan.tree)

    def _find_all(self) -> Mapping[tuple[str, str], str]:
        """(file, soname) → what it gets, in its own process, else in the first of another root that loads it."""
        found: dict[tuple[str, str], str] = {}
        for path, process in self.processes.items():
            found |= {key: target for key, target in process.found.items() if key[0] == path}
        for process in self.processes.values():
            for key, target in process.found.items():
                found.setdefault(key, target)
        return found

    def missing(self) -> Iterator[tuple[str, str]]:
        """(file, soname) that no process satisfies: not even one that brings an RPATH, or the library, along."""
        for path, process in self.processes.items():
            for user, soname in process.missing:
                if user == path and (user, soname) not in self.found:
                    yield user, soname

    def is_whole(self, process: Process) -> bool:
        """Nothing that the root needs, by however many steps, is missing."""
        return all(key in self.found for key in process.missing)


def audit_closure(scan: Scan, promises: Promises) -> Iterator[Finding]:
    """Missing libraries, missing versions, undefined functions, copies."""
    closure = Closure(scan)
    yield from _find_missing(closure, promises)
    yield from _find_versions(closure)
    yield from _find_undefined(closure)
    yield from _find_copies(closure, scan)


def _index_sonames(tree: Tree) -> Mapping[str, tuple[str, ...]]:
    by_soname: dict[str, list[str]] = defaultdict(list)
    for path, facts in sorted(tree.elves.items()):
        by_soname[facts.soname or path.rpartition("/")[2]].append(path)
    return {soname: tuple(paths) for soname, paths in by_soname.items()}


def _find_missing(closure: Closure, promises: Promises) -> Iterator[Finding]:
    users: dict[str, list[str]] = defaultdict(list)
    for path, soname in closure.missing():
        users[soname].append(path)
    for soname, paths in sorted(users.items()):
        for path in paths:
            yield _judge_missing(closure, promises, path, soname)


def _judge_missing(closure: Closure, promises: Promises, path: str, soname: str) -> Finding:
    if soname in promises.absent:
        evidence = f"needs {soname}"
        return find("needed-missing", path, evidence, severity="expected", reason=promises.absent[soname])
    if _CUDA.fullmatch(soname):
        return find("needs-cuda", path, f"needs {soname}")
    elsewhere = closure.sonames.get(soname, ())
    if friend := next((other for other in elsewhere if _are_of_one_product(path, other)), ""):
        return find("needed-preloaded", path, f"needs {soname}, which is /{friend}")
    if elsewhere:
        return find("needed-unreachable", path, f"needs {soname}, which is only at /{elsewhere[0]}")
    return find("needed-missing", path, f"needs {soname}")


def _are_of_one_product(path: str, other: str) -> bool:
    """Do both lie in a folder that is neither the system's nor ROCm's? Then its program may load one before the other,
    as Python packages and Java do."""
    together = posixpath.commonpath((path, other))
    return not (SYSTEM_FOLDER.fullmatch(together) or ROCM_FOLDER.match(together))


def _find_versions(closure: Closure) -> Iterator[Finding]:
    """As the loader checks: a library that defines versions must define the one that is asked of it."""
    for path, facts in sorted(closure.tree.elves.items()):
        lacking: dict[tuple[str, str], list[str]] = defaultdict(list)
        for soname, version in facts.version_needs:
            library = closure.found.get((path, soname))
            has = closure.tree.elves[library].versions if library else ()
            if library and has and version not in has:
                lacking[soname, library].append(version)
        for (soname, library), versions in sorted(lacking.items()):
            rule = "version-too-new" if any(map(_CEILINGS.fullmatch, versions)) else "version-missing"
            newest = _say_newest(versions, closure.tree.elves[library].versions)
            yield find(rule, path, f"wants {name_some(sorted(versions))} of {soname}; /{library} has {newest}")


def _say_newest(wanted: list[str], has: tuple[str, ...]) -> str:
    families = {found["family"] for version in wanted if (found := _CEILINGS.fullmatch(version))}
    newest = [
        max((one for one in has if (found := _CEILINGS.fullmatch(one)) and found["family"] == family), key=_sort_key,
            default="")
        for family in sorted(families)
    ]  # fmt: skip
    return f"nothing newer than {', '.join(filter(None, newest))}" if any(newest) else name_some(has)


def _sort_key(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"[0-9]+", version))


def _find_undefined(closure: Closure) -> Iterator[Finding]:
    """Functions that nothing in the image defines. Where a library is missing, that says it already."""
    wanted = {
        path: _list_wanted(facts)
        for path, facts in closure.tree.elves.items()
        if facts.undefined and closure.is_whole(closure.processes[path])
    }
    open_names = {name for names in wanted.values() for name in names}
    for facts in closure.tree.elves.values():
        open_names.difference_update(facts.defined.split(b"\0"))
    for path, names in sorted(wanted.items()):
        lacking = sorted(name.decode("latin-1") for name in names if name in open_names)
        if lacking:
            yield find("symbol-undefined", path, f"{len(lacking)}: {name_some(lacking)}")


def _list_wanted(facts: ElfFacts) -> list[bytes]:
    names = facts.undefined.split(b"\0")
    prefix = CALLBACKS.get(facts.soname)
    return [name for name in names if not name.startswith(prefix)] if prefix else names


def _find_copies(closure: Closure, scan: Scan) -> Iterator[Finding]:
    """One soname that stands for different files in one Python process: the first to be loaded wins. Of ROCm's
    libraries any two copies, since Python opens those by their paths as well."""
    reached: dict[str, set[str]] = defaultdict(set)
    for root, process in closure.processes.items():
        if _SITE.match(root):
            for (_, soname), path in process.found.items():
                reached[soname].add(path)
    for soname, paths in closure.sonames.items():
        if _ROCM_SONAME.fullmatch(soname):
            reached[soname].update(paths)
    for soname, found in sorted(reached.items()):
        different = {_identify(scan, path): path for path in sorted(found, reverse=True)}
        if len(different) > 1:
            copies = sorted(different.values())
            yield find("library-twice", copies[0], f"{soname}: {name_some([f'/{path}' for path in copies])}")


def _identify(scan: Scan, path: str) -> object:
    """Equal for equal libraries, as far as the loader and those who link them can tell."""
    facts = scan.tree.elves[path]
    return (scan.tree.nodes[path].size_bytes, facts.soname, facts.needed, facts.defined, facts.versions)
