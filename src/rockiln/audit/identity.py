"""Scan + Promises → findings about what the Python packages really are, told from their metadata and files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from rockiln.audit.finding import Finding
from rockiln.audit.installed.distributions import Distribution, list_distributions
from rockiln.audit.promises import RECORD_PATH, Promises
from rockiln.audit.rules import find
from rockiln.audit.scan import Scan
from rockiln.installed.builds import find_differing_jax, read_torch_build
from rockiln.installed.record import find_doubles

TORCH_FAMILY = ("torch", "torchvision", "torchaudio", "triton", "pytorch-triton-rocm")
_CUDA_NAMES = re.compile(
    r"nvidia-.*|cuda-(?:bindings|python|core|pathfinder|toolkit)|cupy-cuda\d+x?|jax-cuda\d+-(?:plugin|pjrt)"
    r"|tensorflow-gpu|onnxruntime-gpu|pynvml|nvidia"
)
_NOT_CUDA = frozenset({"nvidia-ml-py"})
"""Pure Python, and only says that there is no NVIDIA driver; frameworks for every GPU ask for it."""
_VARIANT = re.compile(r"(?P<kind>rocm|cu|xpu|cpu)(?P<version>\d+(?:\.\d+)?)?")


def audit_identity(scan: Scan, promises: Promises) -> Iterator[Finding]:
    """Everything that pip and uv can get wrong without saying so."""
    for fault in promises.faults:
        yield find("promise-unreadable", RECORD_PATH, fault)
    installed = list_distributions(scan.tree)
    for _, group in groupby(installed, key=lambda one: one.site):
        site = tuple(group)
        yield from _find_mixed_family(site)
        yield from _find_jax_faults(site)
        yield from _find_doubles(site)
        if promises.is_rocm:
            yield from _find_cuda_packages(site)
        yield from _find_changed(site, promises)
        yield from _find_local_installs(site)
    if promises.is_rocm:
        yield from _find_wrong_torch(scan)


def _find_wrong_torch(scan: Scan) -> Iterator[Finding]:
    """`torch.version.hip` decides: names of AMD's own wheels do not always say rocm."""
    for path, content in scan.tree.texts.items():
        if path.endswith("-packages/torch/version.py"):
            build = read_torch_build(content.decode("utf-8", "replace"))
            if not build.hip:
                target = f"CUDA {build.cuda}" if build.cuda else "CPUs"
                yield find("torch-not-hip", path, f"torch {build.version} is a build for {target}: hip is None")


def _find_cuda_packages(site: Sequence[Distribution]) -> Iterator[Finding]:
    for one in site:
        if _CUDA_NAMES.fullmatch(one.key) and one.key not in _NOT_CUDA:
            yield find("cuda-package", one.folder, f"{one.name} {one.version}")


def _find_mixed_family(site: Sequence[Distribution]) -> Iterator[Finding]:
    family = [one for one in site if one.key in TORCH_FAMILY]
    variants = {one.key: variant for one in family if (variant := _read_variant(one.version)) is not None}
    torch = variants.get("torch")
    if torch is None:
        return
    for one in family:
        other = variants.get(one.key)
        if other is not None and other != torch:
            mine = next(item.version for item in family if item.key == "torch")
            evidence = f"{one.name} {one.version} beside torch {mine}: {_say(other)}, {_say(torch)}"
            yield find("torch-family-mixed", one.folder, evidence)


def _read_variant(version: str) -> str | None:
    """ "2.8.0+rocm7.0.2.lw.git245bf6ed" → "rocm7.0"; "" for the default index; None for a label that says neither."""
    public, plus, label = version.partition("+")
    if not plus:
        return "" if public else None
    matched = _VARIANT.match(label)
    return f"{matched['kind']}{matched['version'] or ''}" if matched else None


def _say(variant: str) -> str:
    return f"one is a build for {variant}" if variant else "one comes from the default index"


def _find_jax_faults(site: Sequence[Distribution]) -> Iterator[Finding]:
    family = find_differing_jax((one.key, one.version) for one in site)
    if family:
        names = {key for key, _ in family}
        found = [one for one in site if one.key in names]
        evidence = ", ".join(f"{one.name} {one.version}" for one in found)
        yield find("jax-versions-differ", found[0].folder, evidence)


def _find_doubles(site: Sequence[Distribution]) -> Iterator[Finding]:
    for key, _ in find_doubles((one.key, one.version) for one in site):
        evidence = ", ".join(one.folder.rpartition("/")[2] for one in site if one.key == key)
        yield find("distribution-twice", site[0].site, f"{key}: {evidence}")


def _find_changed(site: Sequence[Distribution], promises: Promises) -> Iterator[Finding]:
    for one in site:
        wanted = promises.versions.get(one.key)
        if wanted is not None and wanted != one.version:
            yield find("freeze-changed", one.folder, f"{one.name} {one.version}; the record says {wanted}")


def _find_local_installs(site: Sequence[Distribution]) -> Iterator[Finding]:
    for one in site:
        url = str(one.direct_url.get("url", ""))
        details = one.direct_url.get("dir_info")
        if isinstance(details, dict) and details.get("editable") is True:
            yield find("editable-install", one.folder, f"{one.name} {one.version} is what {url} holds at the moment")
        elif url.startswith("file:"):
            yield find("built-from-path", one.folder, f"{one.name} {one.version} came from {url}")
