"""Host → copies of ROCm's libraries that may be loaded together, and the ones that are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hipcompat.doctor.finding import Finding
from hipcompat.doctor.host import Host
from hipcompat.doctor.packages import Distribution

_LIBRARY = re.compile(r"(libamdhip64|libhsa-runtime64|libamd_smi)\.so(?:\.[0-9]+)*$")
_SYSTEM = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
           "/usr/local/lib")  # fmt: skip
_BOUND = "/.singularity.d/libs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One real file."""

    stem: str
    path: str
    way: str
    """By which it would be found: LD_LIBRARY_PATH, loader, or the package that carries it."""


def list_copies(host: Host) -> tuple[Copy, ...]:
    """Real files, each by the first way that finds it."""
    found: dict[str, Copy] = {}
    for folder, way in _list_folders(host):
        for name in host.list(folder):
            match = _LIBRARY.match(name)
            path = host.resolve(f"{folder}/{name}") if match else ""
            if match and path:
                found.setdefault(path, Copy(stem=match[1], path=path, way=way))
    return tuple(found.values())


def _list_folders(host: Host) -> Iterator[tuple[str, str]]:
    for folder in host.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder.startswith("/"):
            yield folder, "LD_LIBRARY_PATH"
    for site in host.sites:
        yield f"{site}/torch/lib", "torch"
        yield f"{site}/amdsmi", "amdsmi"
        for name in host.list(site):
            if name.startswith("_rocm_sdk_"):
                yield f"{site}/{name}/lib", name
    rocm_paths = [host.environ.get("ROCM_PATH", "")]
    rocm_paths += [f"/opt/{name}" for name in host.list("/opt") if name.startswith("rocm")]
    yield from ((f"{path}/lib", "ROCm") for path in rocm_paths if path.startswith("/"))
    yield from ((folder, "loader") for folder in (*_list_configured(host), *_SYSTEM))


def _list_configured(host: Host) -> Iterator[str]:
    """ld.so.conf's folders."""
    for name in host.list("/etc/ld.so.conf.d"):
        for line in (host.read(f"/etc/ld.so.conf.d/{name}") or "").splitlines():
            folder = line.partition("#")[0].strip()
            if folder.startswith("/"):
                yield folder.rstrip("/")


def find_library_path(host: Host) -> Iterator[Finding]:
    """The preflight's words."""
    value = host.environ.get("LD_LIBRARY_PATH", "")
    if value:
        message = f"LD_LIBRARY_PATH={value} goes before the libraries that this image was built with: unset it"
        yield Finding(rule="library-path-set", severity="warning", message=message)


def find_library_faults(host: Host, dists: Sequence[Distribution]) -> Iterator[Finding]:
    """Copies in conflict, the host's libraries inside a container, amdsmi without its library."""
    copies = list_copies(host)
    if bound := [name for name in host.list(_BOUND) if ".so" in name]:
        yield Finding(
            rule="host-libraries-bound", severity="warning",
            message=f"apptainer --rocm has bound {len(bound)} of the host's libraries over this image's",
            advice=("they may ask for a newer GLIBC than the image has",
                    "apptainer exec without --rocm, with --bind /dev/kfd,/dev/dri"),
        )  # fmt: skip
    for stem in sorted({copy.stem for copy in copies}):
        same = [copy for copy in copies if copy.stem == stem]
        if len(same) > 1:
            yield _describe_copies(stem, same)
    yield from _find_amdsmi_fault(copies, dists)


def _describe_copies(stem: str, copies: Sequence[Copy]) -> Finding:
    """A fault where a variable chooses; else each user has its own by RUNPATH, until both are in one process."""
    chosen = [copy for copy in copies if copy.way == "LD_LIBRARY_PATH"]
    names = ", ".join(f"{copy.path} ({copy.way})" for copy in copies)
    remedy = "unset LD_LIBRARY_PATH" if chosen else "keep the one that the framework brings, or the system's"
    advice = "a process that loads two has two ROCm runtimes: memory and streams of one are unknown to the other"
    return Finding(
        rule="rocm-copies", severity="error" if chosen and len(chosen) < len(copies) else "warning",
        message=f"{len(copies)} copies of {stem}: {names}",
        advice=(advice, remedy),
    )  # fmt: skip


def _find_amdsmi_fault(copies: Sequence[Copy], dists: Sequence[Distribution]) -> Iterator[Finding]:
    amdsmi = next((one for one in dists if one.name == "amdsmi"), None)
    if amdsmi is None or any(copy.stem == "libamd_smi" for copy in copies):
        return
    has_torch = any(one.name == "torch" for one in dists)
    yield Finding(
        rule="amdsmi-without-library", severity="error" if has_torch else "warning",
        message=f"amdsmi {amdsmi.version} is installed and libamd_smi.so is not: its import ends with KeyError"
        + (", and so does torch's" if has_torch else ""),
        advice=("install AMD's amd-smi-lib (Debian: libamd-smi), or pip uninstall amdsmi: both or neither",),
    )  # fmt: skip
