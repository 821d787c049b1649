"""Host → installed distributions and whose builds they are, from their files alone; nothing is imported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hipcompat.doctor.finding import Finding
from hipcompat.doctor.host import Host
from hipcompat.installed.builds import JAX_CUDA, JAX_ROCM, find_differing_jax, read_torch_build
from hipcompat.installed.record import find_doubles, normalize_name, read_record

_FOLDER = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+?)(?:-py[\d.]+)?\.(?:dist|egg)-info$")
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
            name=normalize_name(match["name"]), version=match["version"], site=site, folder=name
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
    text = host.read(f"{site}/torch/version.py")
    if text is None:
        return None
    build = read_torch_build(text)
    return Identity(framework="torch", version=build.version, hip=build.hip, cuda=build.cuda)


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
    hip = next((one.version for one in dists if JAX_ROCM.fullmatch(one.name)), "")
    cuda = next((one.version for one in dists if JAX_CUDA.fullmatch(one.name)), "")
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
    family = find_differing_jax((one.name, one.version) for one in dists)
    if family:
        message = ", ".join(f"{name} {version}" for name, version in family)
        yield Finding(rule="jax-versions-differ", severity="error", message=f"versions differ: {message}",
                      advice=("all of them must be of one version",))  # fmt: skip


def find_install_faults(host: Host, dists: Sequence[Distribution]) -> Iterator[Finding]:
    """One distribution in two versions, one file of two distributions."""
    for site in dict.fromkeys(one.site for one in dists):
        for name, versions in find_doubles((one.name, one.version) for one in dists if one.site == site):
            message = f"{name} is in {site} as {' and '.join(versions)}"
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
    """Files that RECORD has a hash for."""
    for path, digest in read_record(host.read(f"{one.site}/{one.folder}/RECORD") or "", one.site):
        if digest and "__pycache__" not in path:
            yield path, digest
