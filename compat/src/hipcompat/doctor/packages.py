"""Host → installed distributions and whose builds they are, from their files alone; nothing is imported."""

from __future__ import annotations

import csv
import io
import posixpath
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hipcompat.doctor.finding import Finding
from hipcompat.doctor.host import Host

_FOLDER = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+?)(?:-py[\d.]+)?\.(?:dist|egg)-info$")
_ASSIGNED = r"""^{}\s*(?::[^=\n]+)?=\s*(?:None|['"]([^'"]*)['"])"""
_JAX_ROCM = re.compile(r"jax-rocm\d+-(?:plugin|pjrt)$")
_JAX_CUDA = re.compile(r"jax-cuda\d+-(?:plugin|pjrt)$")
_TOLD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One .dist-info or .egg-info folder."""

    name: str
    """Normalized, as indexes compare it."""
    version: str
    site: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a framework was built for. Empty texts: it does not say."""

    framework: str
    version: str
    hip: str
    cuda: str


def list_distributions(host: Host) -> tuple[Distribution, ...]:
    """In the order of Python's path."""
    found = ((site, name, _FOLDER.match(name)) for site in host.sites for name in host.list(site))
    return tuple(
        Distribution(
            name=re.sub(r"[-_.]+", "-", match["name"]).lower(), version=match["version"], site=site, folder=name
        )
        for site, name, match in found
        if match
    )


def read_identities(host: Host, dists: Sequence[Distribution]) -> tuple[Identity, ...]:
    """torch, TensorFlow and JAX, where they are installed."""
    torch = (_read_torch(host, site) for site in host.sites)
    tensorflow = (_read_tensorflow(host, site, dists) for site in host.sites)
    found = [next(filter(None, torch), None), next(filter(None, tensorflow), None), _read_jax(dists)]
    return tuple(one for one in found if one)


def _read_torch(host: Host, site: str) -> Identity | None:
    """torch/version.py is written by its build: the only place that says HIP, whatever the version is called."""
    text = host.read(f"{site}/torch/version.py")
    if text is None:
        return None
    version, hip, cuda = (_read_assigned(text, name) for name in ("__version__", "hip", "cuda"))
    return Identity(framework="torch", version=version, hip=hip, cuda=cuda)


def _read_assigned(text: str, name: str) -> str:
    match = re.search(_ASSIGNED.format(re.escape(name)), text, re.MULTILINE)
    return (match[1] or "") if match else ""


def _read_tensorflow(host: Host, site: str, dists: Sequence[Distribution]) -> Identity | None:
    text = host.read(f"{site}/tensorflow/python/platform/build_info.py")
    if text is None:
        return None
    ours = [one for one in dists if re.match(r"tensorflow(?:-rocm|-cpu)?$", one.name)]
    says = {
        kind: re.search(rf"""['"]is_{kind}_build['"]\s*[,:]?\s*[:,]?\s*True""", text) is not None
        for kind in ("rocm", "cuda")
    }
    return Identity(
        framework="tensorflow", version=ours[0].version if ours else "",
        hip="yes" if says["rocm"] else "", cuda="yes" if says["cuda"] else "",
    )  # fmt: skip


def _read_jax(dists: Sequence[Distribution]) -> Identity | None:
    jax = next((one for one in dists if one.name == "jaxlib"), None)
    if jax is None:
        return None
    hip = next((one.version for one in dists if _JAX_ROCM.match(one.name)), "")
    cuda = next((one.version for one in dists if _JAX_CUDA.match(one.name)), "")
    return Identity(framework="jax", version=jax.version, hip=hip, cuda=cuda)


def find_identity_faults(host: Host, dists: Sequence[Distribution]) -> Iterator[Finding]:
    """Frameworks that will not use an AMD GPU, and how that came about."""
    for one in read_identities(host, dists):
        if one.hip:
            continue
        built = f"for CUDA {one.cuda}".replace(" yes", "") if one.cuda else "for the CPU alone"
        rule = {"torch": "torch-not-hip", "tensorflow": "tensorflow-not-rocm", "jax": "jax-without-rocm"}[one.framework]
        yield Finding(rule=rule, severity="error", message=f"{one.framework} {one.version} is built {built}",
                      advice=(_ADVICE[one.framework],))  # fmt: skip
    yield from _find_jax_faults(dists)
    nvidia = [one.name for one in dists if one.name.startswith("nvidia-") and one.name != "nvidia-ml-py"]
    if nvidia:
        yield Finding(rule="nvidia-wheels", severity="warning",
                      message=f"{len(nvidia)} wheels of NVIDIA's libraries: {', '.join(nvidia[:_TOLD])}",
                      advice=("a CUDA build brought them; pip uninstall frees gigabytes",))  # fmt: skip


_ADVICE = {
    "torch": "pip has replaced it, or took it from the default index: reinstall from the index of ROCm wheels, "
    "with PIP_CONSTRAINT as rockiln's images set it",
    "tensorflow": "the ROCm build is called tensorflow-rocm",
    "jax": "jax-rocm7-plugin and jax-rocm7-pjrt of jaxlib's version make it use AMD GPUs",
}


def _find_jax_faults(dists: Sequence[Distribution]) -> Iterator[Finding]:
    family = [one for one in dists if one.name in {"jax", "jaxlib"} or _JAX_ROCM.match(one.name)]
    versions = {one.version.partition("+")[0].partition(".post")[0] for one in family}
    if len(versions) > 1:
        message = ", ".join(f"{one.name} {one.version}" for one in family)
        yield Finding(rule="jax-versions-differ", severity="error", message=f"versions differ: {message}",
                      advice=("all of them must be of one version",))  # fmt: skip


def find_install_faults(host: Host, dists: Sequence[Distribution]) -> Iterator[Finding]:
    """One distribution in two versions, one file of two distributions."""
    by_name: dict[tuple[str, str], list[Distribution]] = {}
    for one in dists:
        by_name.setdefault((one.site, one.name), []).append(one)
    for (site, name), copies in by_name.items():
        if len(copies) > 1:
            message = f"{name} is in {site} as {' and '.join(one.version for one in copies)}"
            yield Finding(rule="distribution-twice", severity="error", message=message,
                          advice=(f"pip uninstall {name}, twice, and install it again",))  # fmt: skip
    yield from _find_collisions(host, dists)


def _find_collisions(host: Host, dists: Sequence[Distribution]) -> Iterator[Finding]:
    """Files that two distributions claim with different content: whichever came later is there."""
    owners: dict[str, tuple[str, str]] = {}
    pairs: dict[tuple[str, str], list[str]] = {}
    for one in dists:
        for path, digest in _read_record(host, one):
            other, known = owners.setdefault(path, (one.name, digest))
            if other != one.name and known != digest:
                pairs.setdefault((other, one.name), []).append(path)
    for (first, second), paths in sorted(pairs.items()):
        told = ", ".join(sorted(path.rpartition("-packages/")[2] for path in paths)[:_TOLD])
        yield Finding(
            rule="record-collision", severity="error" if {first, second} & _CUDA_PYTHON else "warning",
            message=f"{first} and {second} both own {len(paths)} files: {told}",
            advice=("which one is there depends on the order of installation: uninstall one, reinstall the other",),
        )  # fmt: skip


_CUDA_PYTHON = frozenset({"cuda-bindings", "cuda-python", "hip-python-interop"})
"""hip-python's interop and NVIDIA's bindings write the same modules; with the wrong one nothing imports."""


def _read_record(host: Host, one: Distribution) -> Iterator[tuple[str, str]]:
    text = host.read(f"{one.site}/{one.folder}/RECORD") or ""
    csv.field_size_limit(sys.maxsize)  # the default, 131,072, ends in an exception: a long name is no damage
    for row in csv.reader(io.StringIO(text, newline="")):
        if len(row) >= 2 and row[1] and "__pycache__" not in row[0]:
            yield posixpath.normpath(posixpath.join(one.site, row[0])), row[1]
