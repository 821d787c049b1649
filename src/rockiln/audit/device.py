"""Scan + Promises → findings about GPUs: code in the files = the promise = data beside libraries = the label."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from rockiln.audit.finding import Finding
from rockiln.audit.promises import ARCHS_LABEL, Promises
from rockiln.audit.rules import find, name_some
from rockiln.audit.scan import Scan
from rockiln.kernel_data.grammars import Named, name_file
from rockiln.kernel_data.targets import expand, find_targets

_TENSILE = ("rocblas", "hipblaslt", "hipsparselt")
_INDEX = re.compile(r"TensileLibrary_.*\.dat")
_CODE = re.compile(r".*\.(?:co|hsaco)")

SERVES: Mapping[str, AbstractSet[str]] = {
    "hipsparselt": frozenset({"gfx942", "gfx950"}),
    "hipblaslt": frozenset({
        "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1200",
        "gfx1201",
    }),
}  # fmt: skip
"""Libraries that are made for some GPUs only: what they lack for others is no fault.
https://rocm.docs.amd.com/projects/hipSPARSELt and /hipBLASLt, their pages on supported GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFolder:
    """A folder of Tensile data: GPUs that it has an index for, and GPUs that it has code for."""

    path: str
    rule: str
    """Whose data: rocblas, hipblaslt, hipsparselt."""
    indexed: frozenset[str]
    coded: frozenset[str]


def audit_device(scan: Scan, promises: Promises) -> Iterator[Finding]:
    """The label against the record, then every file with code and every data folder against the promise."""
    yield from _find_other_label(scan, promises)
    yield from _find_misnamed(scan)
    if promises.archs:
        yield from _find_code(scan, promises)
        yield from _find_data(scan, promises)


def _find_other_label(scan: Scan, promises: Promises) -> Iterator[Finding]:
    if promises.record_archs is None or not scan.has_settings:
        return
    label = scan.settings.labels.get(ARCHS_LABEL, "").split()
    if sorted(label) != sorted(promises.record_archs):
        said, recorded = (" ".join(sorted(names)) or "none" for names in (label, promises.record_archs))
        yield find("label-differs", "", f"label {ARCHS_LABEL}: {said}; /etc/rockiln/version.json: {recorded}")


def _find_misnamed(scan: Scan) -> Iterator[Finding]:
    for path, targets in sorted(scan.targets.items()):
        named = find_targets(path.rpartition("/")[2])
        archs = frozenset().union(*map(expand, named))
        if _CODE.fullmatch(path) and len(named) == 1 and not any(_serves(targets, arch) for arch in archs):
            yield find("code-misnamed", path, f"holds code for {name_some(targets)}")


def _find_code(scan: Scan, promises: Promises) -> Iterator[Finding]:
    unwanted: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, targets in sorted(scan.targets.items()):
        folder = path.rpartition("/")[0] if _CODE.fullmatch(path) else path
        extra = sorted(target for target in targets if _is_unwanted(target, promises.archs))
        if extra:
            unwanted[folder, " ".join(extra) if folder == path else ""].append(path)
        if path in scan.tree.elves:
            lacking = [arch for arch in _expected(path, promises.archs) if not _serves(targets, arch)]
            if lacking:
                yield find("code-missing", path, f"none for {name_some(lacking)}; holds {name_some(targets, 8)}")
    for (folder, extra_names), paths in sorted(unwanted.items()):
        names = extra_names.split() or sorted({target for path in paths for target in scan.targets[path]})
        extra = [name for name in names if _is_unwanted(name, promises.archs)]
        files = "" if folder == paths[0] else f" in {len(paths)} files"
        yield find("code-unwanted", folder, f"for {name_some(extra, 12)}{files}")


def _expected(path: str, archs: tuple[str, ...]) -> tuple[str, ...]:
    """The promised GPUs for which a library is made at all."""
    for name, served in SERVES.items():
        if f"lib{name}" in path:
            return tuple(arch for arch in archs if arch in served)
    return archs


def _find_data(scan: Scan, promises: Promises) -> Iterator[Finding]:
    named = {path: found for path in scan.tree.nodes if (found := name_file(path)) and not found.doubt}
    for data in _list_data_folders(scan, named):
        for arch in promises.archs:
            lacking = [what for what, has in (("index", data.indexed), ("code", data.coded)) if arch not in has]
            if lacking and arch in SERVES.get(data.rule, {arch}):
                others = sorted((data.indexed | data.coded) - {arch})
                has = name_some(others) if others else "nothing"
                yield find("data-missing", data.path, f"no {' and no '.join(lacking)} for {arch}; there is {has}")
    yield from _find_untuned(named, promises)


def _list_data_folders(scan: Scan, named: Mapping[str, Named]) -> Iterator[DataFolder]:
    """Folders of data whose library is here; names say the arch of an index, and the content that of code."""
    folders: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, found in named.items():
        if found.rule in _TENSILE and _has_library(scan, found.rule):
            folders[found.root, found.rule].append(path)
    for (root, rule), paths in sorted(folders.items()):
        indexes = [path for path in paths if _INDEX.fullmatch(path.rpartition("/")[2])]
        indexes = [path for path in indexes if "_lazy_" in path] or indexes  # what the library opens first
        indexed = {arch for path in indexes for target in named[path].targets for arch in expand(target)}
        coded = {arch for path in paths for arch in _archs_of(scan.targets.get(path, ()))}
        yield DataFolder(path=root, rule=rule, indexed=frozenset(indexed), coded=frozenset(coded))


def _has_library(scan: Scan, rule: str) -> bool:
    return any(path.rpartition("/")[2].startswith(f"lib{rule}.so") for path in scan.tree.elves)


def _find_untuned(named: Mapping[str, Named], promises: Promises) -> Iterator[Finding]:
    """MIOpen's databases and models, those that an arch inherits included."""
    folders: dict[str, set[str]] = defaultdict(set)
    for found in named.values():
        if found.rule == "miopen":
            folders[found.root] |= found.heirs.union(*map(expand, found.targets))
    for root, archs in sorted(folders.items()):
        for arch in promises.archs:
            if arch not in archs:
                yield find("tuning-missing", root, f"nothing for {arch}")


def _archs_of(targets: tuple[str, ...]) -> Iterator[str]:
    for target in targets:
        yield from expand(target.partition(":")[0])


def _serves(targets: tuple[str, ...], arch: str) -> bool:
    return arch in set(_archs_of(targets)) or any(not _is_gpu(target) for target in targets)


def _is_unwanted(target: str, archs: tuple[str, ...]) -> bool:
    return _is_gpu(target) and not set(_archs_of((target,))) & set(archs)


def _is_gpu(target: str) -> bool:
    """What is not understood is taken to serve every GPU."""
    return bool(expand(target.partition(":")[0]))
