"""Package names + a private apt → the exact debs: apt chooses, its verified lists give path, size and sha256."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from rockiln.artifact import Artifact
from rockiln.errors import ResolveError
from rockiln.resolve.apt_folder import AptFolder, Archive, PackageList

_PRINTED = re.compile(r"'(?P<url>[^']+)' (?P<file>\S+) \d+")
PREFERRED, NEVER = 990, -1

Chosen = tuple[str, str, str]
"""Package, version with epoch, architecture."""


def resolve_debs(apt: AptFolder, packages: Iterable[str]) -> tuple[Artifact, ...]:
    """What apt would install onto an empty system for `packages`, without recommendations. Raises ResolveError."""
    wanted = sorted(packages)
    if not wanted:
        return ()
    _require_names(wanted)
    (apt.path / "etc/preferences").write_text(render_pins(apt.lists))
    finished = apt.run("apt-get", "-q", "--print-uris", "--no-remove", "install", *wanted)
    if finished.returncode:
        reasons = _explain(finished.stdout, finished.stderr)
        raise ResolveError(f"apt finds no way to install what was asked for: {reasons}")
    chosen = {_parse_printed(line) for line in finished.stdout.splitlines() if line.startswith("'")}
    found = _find_records(chosen, apt.lists)
    lost = sorted(chosen - found.keys())
    if lost:
        raise ResolveError(f"apt chose {' '.join(lost[0])}, which none of its verified lists holds")
    return tuple(sorted(found.values()))


def _require_names(packages: list[str]) -> None:
    """A name with `=` or `/`, or `-` at its end, would tell apt something else."""
    for package in packages:
        if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]*[a-z0-9+.](:[a-z0-9]+)?", package):
            raise ResolveError(f"{package!r} is not the name of a Debian package")


def render_pins(lists: tuple[PackageList, ...]) -> str:
    """apt preferences: an archive with pinned packages gives these before anybody else, and nothing besides."""
    blocks = []
    for package_list in lists:
        globs = package_list.archive.source.pinned_packages
        if globs and not package_list.pin:
            name = package_list.archive.source.name
            raise ResolveError(f'source "{name}": its Release file has no Origin, Suite or Codename to pin by')
        if globs and "*" not in globs:
            blocks.append(f"Package: *\nPin: {package_list.pin}\nPin-Priority: {NEVER}\n")
        if globs:
            blocks.append(f"Package: {' '.join(globs)}\nPin: {package_list.pin}\nPin-Priority: {PREFERRED}\n")
    return "\n".join(dict.fromkeys(blocks))


def _parse_printed(line: str) -> Chosen:
    match = _PRINTED.match(line)
    parts = unquote(match["file"]).removesuffix(".deb").split("_") if match else []
    if len(parts) != 3:
        raise ResolveError(f"apt printed a line that is not understood: {line}")
    return parts[0], parts[1], parts[2]


def _explain(stdout: str, stderr: str) -> str:
    """apt's own reasons, in one line: unmet dependencies stand on stdout, the verdict on stderr."""
    kept = [line.strip() for line in (*stdout.splitlines(), *stderr.splitlines()) if line.startswith((" ", "E:"))]
    return "; ".join(" ".join(line.split()) for line in kept) or stderr.strip()


def _find_records(chosen: set[Chosen], lists: tuple[PackageList, ...]) -> Mapping[Chosen, Artifact]:
    """The first list that holds a deb names its source; the lists are in the row's order of sources."""
    found: dict[Chosen, Artifact] = {}
    wanted = {f"Package: {package}".encode() for package, _, _ in chosen}
    for package_list in lists:
        for paragraph in package_list.path.read_bytes().split(b"\n\n"):
            if paragraph.lstrip(b"\n").partition(b"\n")[0] in wanted:
                key, artifact = _read_record(paragraph.decode(), package_list.archive)
                if key in chosen:
                    found.setdefault(key, artifact)
    return found


def _read_record(paragraph: str, archive: Archive) -> tuple[Chosen, Artifact]:
    from debian.deb822 import Packages

    record = Packages(paragraph)
    key = (record["Package"], record["Version"], record["Architecture"])
    if not record.get("SHA256"):
        message = f'source "{archive.source.name}": its list has no SHA256 for {record["Package"]}'
        raise ResolveError(message, hint="an archive without SHA256 cannot be locked")
    artifact = Artifact(
        kind="deb",
        name=record["Package"],
        version=record["Version"],
        architecture=record["Architecture"],
        source=archive.source.name,
        path=record["Filename"].removeprefix("./"),
        sha256=record["SHA256"],
        size_bytes=int(record["Size"]),
    )
    return key, artifact


def upstream_version(debs: Iterable[Artifact], package: str) -> str:
    """Version of a deb without epoch and Debian revision; "" if it is not there."""
    version = next((deb.version for deb in debs if deb.name == package), "")
    without_epoch = version.rpartition(":")[2]
    return without_epoch.rpartition("-")[0] or without_epoch


