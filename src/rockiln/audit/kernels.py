"""Scan + Promises → findings about kernels: what is prebuilt, what a pack lacks, and what would compile at run time."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rockiln.audit.finding import Finding
from rockiln.audit.installed.loader import Loader
from rockiln.audit.installed.tree import Tree
from rockiln.audit.promises import Promises
from rockiln.audit.rules import find, name_some
from rockiln.audit.scan import Scan

_MANIFEST_KEYS = frozenset({"arch", "kernels", "schema", "triton"})
_SITE_PACKAGE = re.compile(r"(?P<folder>.*/(?:site|dist)-packages/(?P<name>[^/]+))/.*")
_PLUGIN_PACKAGE = "rockiln_kernels"
_PROMISED = re.compile(rf".*-packages/{_PLUGIN_PACKAGE}/promised\.json")
_FP8_KIND = re.compile(r"\b(e[45]m[23])fnuz\b")
"""gfx942's fp8; all others have OCP's in the same cells."""
ROCM_FOLDERS = ("opt/rocm/lib", "opt/rocm/lib64")
PROGRAM_FOLDERS = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A kernel pack: docs/packs.md has the format."""

    folder: str
    arch: str
    kernels: Mapping[str, Mapping[str, Any]]
    variants: frozenset[str]
    """op/cell of each variant."""
    absent: Mapping[str, str]
    """Variant → why it was not built."""


def audit_kernels(scan: Scan, promises: Promises) -> Iterator[Finding]:
    """Packs against their manifests, against each other and against the promise; then compilers and amdsmi."""
    packs = list(_read_packs(scan.tree))
    yield from _judge_packs(scan.tree, packs, _read_promised(scan.tree))
    if promises.archs and (packs or _has_package(scan.tree, _PLUGIN_PACKAGE)):
        served = {pack.arch for pack in packs}
        for arch in promises.archs:
            if arch not in served:
                has = name_some(sorted(served)) or "none"
                yield find("pack-arch-missing", packs[0].folder if packs else "", f"none for {arch}; there is {has}")
    if promises.is_rocm:
        yield from _find_amdsmi(scan)
        yield from _find_compilers(scan)
        yield from _find_unbuilt(scan.tree)


def _read_packs(tree: Tree) -> Iterator[Pack]:
    for path, content in sorted(tree.texts.items()):
        if not path.endswith("/manifest.json"):
            continue
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.keys() >= _MANIFEST_KEYS and isinstance(value["kernels"], dict):
            variants, absent = (_list_objects(value.get(key)) for key in ("variants", "absent"))
            yield Pack(
                folder=posixpath.dirname(path), arch=str(value["arch"]),
                kernels={str(key): one for key, one in value["kernels"].items() if isinstance(one, dict)},
                variants=frozenset(f"{one.get('op')}/{one.get('cell')}" for one in variants),
                absent={str(one.get("key")): str(one.get("reason")) for one in absent},
            )  # fmt: skip


def _list_objects(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _read_promised(tree: Tree) -> Mapping[str, frozenset[str]]:
    """Arch → op/cell of each cell that the installed rockiln-kernels promises; empty where it says nothing."""
    found: dict[str, frozenset[str]] = {}
    for path, content in tree.texts.items():
        if not _PROMISED.fullmatch(path):
            continue
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            continue
        archs = value.get("archs") if isinstance(value, dict) else None
        for arch, cells in archs.items() if isinstance(archs, dict) else ():
            found[arch] = frozenset(map(str, cells)) if isinstance(cells, list) else frozenset()
    return found


def _find_lacking(pack: Pack, packs: list[Pack], promised: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """By the promise, or else by what the packs beside it hold, whichever kind of fp8 theirs is."""
    if pack.arch in promised:
        if lacking := sorted(promised[pack.arch] - pack.variants):
            yield f"{pack.arch} lacks {len(lacking)} that rockiln-kernels promises: {name_some(lacking)}"
        return
    mine = {_FP8_KIND.sub(r"\1", variant) for variant in pack.variants}
    theirs = {_FP8_KIND.sub(r"\1", variant) for other in packs for variant in other.variants}
    if lacking := sorted(theirs - mine):
        yield f"{pack.arch} lacks {len(lacking)} that other packs here have: {name_some(lacking)}"


def _judge_packs(tree: Tree, packs: list[Pack], promised: Mapping[str, frozenset[str]]) -> Iterator[Finding]:
    for pack in packs:
        if not pack.kernels:
            yield find("pack-empty", pack.folder, f"manifest.json for {pack.arch} lists no kernels")
            continue
        yield from _find_damage(tree, pack)
        for evidence in _find_lacking(pack, packs, promised):
            yield find("pack-incomplete", pack.folder, evidence)
        gone = sorted(key for key in pack.absent if "/".join(key.split("/")[:2]) not in pack.variants)
        if gone:
            evidence = f"{pack.arch} lacks {len(gone)}: {name_some(gone)}; {pack.absent[gone[0]]}"
            yield find("pack-incomplete", pack.folder, evidence)


def _find_damage(tree: Tree, pack: Pack) -> Iterator[Finding]:
    faults = []
    for key, kernel in sorted(pack.kernels.items()):
        name = str(kernel.get("file", ""))
        real = tree.find_file(posixpath.join(pack.folder, name)) if name else None
        if real is None:
            faults.append(f"{name or key} is missing")
        elif tree.nodes[real].sha256 not in {"", str(kernel.get("sha256", ""))}:
            faults.append(f"{name} has another hash")
    if faults:
        yield find("pack-damaged", pack.folder, name_some(list(dict.fromkeys(faults))))


def _find_amdsmi(scan: Scan) -> Iterator[Finding]:
    """amdsmi opens the library beside itself, or in ROCm's folder; its import fails where there is none."""
    loader = Loader(scan.tree, scan.settings.env.get("LD_LIBRARY_PATH", ""))
    for folder in _list_packages(scan.tree, "amdsmi"):
        root = (scan.settings.env.get("ROCM_HOME") or scan.settings.env.get("ROCM_PATH") or "opt/rocm").strip("/")
        places = [f"{where}/libamd_smi.so" for where in (folder, f"{root}/lib", f"{root}/lib64", *ROCM_FOLDERS)]
        found = any(scan.tree.find_file(place) for place in places) or loader.find_cached("libamd_smi.so")
        if not found:
            yield find("amdsmi-without-library", folder, f"no libamd_smi.so in /{root}/lib nor beside it")


def _find_compilers(scan: Scan) -> Iterator[Finding]:
    tree, env = scan.tree, scan.settings.env
    folders = [folder.strip("/") for folder in env.get("PATH", "").split(":") if folder] or list(PROGRAM_FOLDERS)
    for folder in _list_packages(tree, "triton"):
        if not tree.resolve(f"{folder}/backends/amd"):
            continue
        places = [env.get("TRITON_HIP_LLD_PATH", ""), f"{folder}/backends/amd/llvm/bin/ld.lld"]
        yield from _find_linker(tree, folder, [*places, "opt/rocm/llvm/bin/ld.lld", "usr/bin/ld.lld"])
        compilers = (f"{where}/{name}" for where in folders for name in ("cc", "gcc", "clang"))
        if not env.get("CC") and not any(map(tree.find_file, compilers)):
            yield find("compiler-missing", folder, "no cc, gcc or clang on PATH, and CC is not set")
    for folder in _list_packages(tree, "jax_plugins"):
        if any(name.startswith("xla_rocm") for name in tree.list_folder(folder)):
            roots = (env.get("LLVM_PATH", ""), f"{env.get('ROCM_PATH', 'opt/rocm')}/llvm", "opt/rocm/llvm")
            yield from _find_linker(tree, folder, [f"{root}/bin/ld.lld" for root in roots if root])


def _find_linker(tree: Tree, folder: str, places: list[str]) -> Iterator[Finding]:
    asked = [place.strip("/") for place in dict.fromkeys(places) if place]
    if not any(tree.find_file(place) for place in asked):
        yield find("linker-missing", folder, f"not at {name_some([f'/{place}' for place in asked], 5)}")


def _find_unbuilt(tree: Tree) -> Iterator[Finding]:
    """AITER compiles a module at its first use, minutes each, unless aiter/jit holds it: facts of aiter issue 2099."""
    for folder in _list_packages(tree, "aiter"):
        built = [node for node in tree.walk(f"{folder}/jit") if node.path.endswith(".so")]
        if not built:
            yield find("prebuilt-missing", folder, "aiter/jit holds no module")


def _has_package(tree: Tree, name: str) -> bool:
    return any(True for _ in _list_packages(tree, name))


def _list_packages(tree: Tree, name: str) -> Iterator[str]:
    """Folders of a Python package in every site-packages."""
    ending = f"-packages/{name}"
    for path, node in tree.nodes.items():
        if node.kind == "directory" and path.endswith(ending):
            yield path
