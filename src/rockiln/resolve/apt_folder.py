"""Debian archives → a private apt folder, its lists fetched and verified; the host's apt is never touched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rockiln.disk import disk_faults_named
from rockiln.errors import ResolveError, UnavailableError
from rockiln.lock import mirror_setting
from rockiln.matrix import Source
from rockiln.resolve.host_apt import host_transport
from rockiln.resolve.hosts import hide_password

ARCHITECTURE = "amd64"

KEYRING_PATHS = (Path("/usr/share/keyrings"), Path("/etc/apt/keyrings"))

_CONF = """\
Dir "{path}/";
Dir::Etc "{path}/etc/";
Dir::State "{path}/state/";
Dir::State::status "{path}/state/status";
Dir::Cache "{path}/cache/";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Acquire::PDiffs "false";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
"""
"""What apt reads instead of the host's configuration. Signatures are checked whatever the host thinks of them."""

_FOLDERS = (
    "etc/sources.list.d", "etc/preferences.d", "etc/apt.conf.d", "etc/keyrings", "state/lists/partial",
    "cache/archives/partial",
)  # fmt: skip

_SIGNATURE = re.compile(r"NO_PUBKEY|BADSIG|EXPKEYSIG|REVKEYSIG|ERRSIG|not signed|no longer signed|signature|GPG error")
_DATE = re.compile(r"is expired|not valid yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A Debian archive, with the URL that answered and the keyring that was found."""

    source: Source
    url: str
    keyring_path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageList:
    """One Packages file, verified by apt through the archive's signed Release file."""

    archive: Archive
    path: Path
    pin: str
    """apt's words for exactly this suite of this archive, for preferences; "" if its Release file names nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AptFolder:
    """A private apt, ready to resolve."""

    path: Path
    environ: Mapping[str, str]
    lists: tuple[PackageList, ...]

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run an apt program on this folder."""
        return _run(self.path, self.environ, program, *arguments)


def find_keyring(source: Source, project_path: Path, keyring_paths: tuple[Path, ...] = KEYRING_PATHS) -> Path:
    """The source's keyring, from the host or from the project's own folder."""
    places = [folder / source.keyring for folder in (*keyring_paths, project_path)]
    for path in places:
        if path.is_file():
            return path.absolute()
    looked = ", ".join(str(path) for path in places)
    hint = f"install the archive's keyring package, or put {source.keyring} into {project_path}"
    raise ResolveError(f'source "{source.name}": no keyring {source.keyring}; looked for {looked}', hint=hint)


@contextmanager
def open_apt(archives: tuple[Archive, ...], cache_path: Path, environ: Mapping[str, str]) -> Iterator[AptFolder]:
    """Fetch and verify the lists of `archives`, in a folder that is gone afterwards."""
    require_apt(environ)
    with disk_faults_named(cache_path):
        cache_path.mkdir(parents=True, exist_ok=True)
        folder_path = None if " " in str(cache_path) else cache_path.absolute()  # Signed-By cannot name a space
        with tempfile.TemporaryDirectory(prefix="rockiln-apt-", dir=folder_path) as name:
            path = Path(name)
            _lay_out(path, archives, environ)
            finished = _run(path, environ, "apt-get", "-q", "update")
            if finished.returncode:
                _raise_update(finished.stdout + finished.stderr, archives)
            yield AptFolder(path=path, environ=environ, lists=_find_lists(path, archives, environ))


def require_apt(environ: Mapping[str, str]) -> None:
    """Only locking needs apt: a lock made elsewhere is fetched and built without."""
    if shutil.which("apt-get", path=environ.get("PATH")) is None:
        hint = "lock on a Debian or Ubuntu machine, or in such a container: nothing but `rockiln lock` needs apt"
        raise UnavailableError("apt-get is not on this machine: debs cannot be resolved here", hint=hint)


def _lay_out(path: Path, archives: tuple[Archive, ...], environ: Mapping[str, str]) -> None:
    for folder in _FOLDERS:
        (path / folder).mkdir(parents=True)
    (path / "state/status").touch()
    ours = _CONF.format(path=path, architecture=ARCHITECTURE)
    (path / "apt.conf").write_text(host_transport(environ) + ours + _netrc())
    for number, archive in enumerate(archives):
        keyring_path = path / f"etc/keyrings/{number:03}{archive.keyring_path.suffix}"
        shutil.copyfile(archive.keyring_path, keyring_path)
        (path / f"etc/sources.list.d/{number:03}.sources").write_text(_render_source(archive, keyring_path))


def _netrc() -> str:
    """Passwords of archives stay where the host has them, when this user may read them."""
    places = {"netrc": Path("/etc/apt/auth.conf"), "netrcparts": Path("/etc/apt/auth.conf.d")}
    return "".join(f'Dir::Etc::{key} "{path}";\n' for key, path in places.items() if os.access(path, os.R_OK))


def _render_source(archive: Archive, keyring_path: Path) -> str:
    source = archive.source
    return (
        f"Types: deb\nURIs: {archive.url}\nSuites: {' '.join(source.suites)}\n"
        f"Components: {' '.join(source.components)}\nArchitectures: {ARCHITECTURE}\n"
        f"Signed-By: {keyring_path}\nCheck-Valid-Until: {'yes' if source.check_valid_until else 'no'}\n"
    )


def _run(path: Path, environ: Mapping[str, str], program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**environ, "APT_CONFIG": str(path / "apt.conf"), "LC_ALL": "C", "TMPDIR": str(path)}
    command = [program, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def _raise_update(output: str, archives: tuple[Archive, ...]) -> None:
    """Turn what apt says into one error about one archive: the first that an E: line names."""
    lines = sorted(line for line in output.splitlines() if line.startswith(("E:", "W:", "Err:")))
    blamed = next((archive for line in lines for archive in archives if _names(archive, line)), archives[0])
    name = blamed.source.name
    about = [line for line in lines if _names(blamed, line)] or output.splitlines()[-3:]
    text = "; ".join(line.replace(blamed.url, hide_password(blamed.url)) for line in about)
    if _SIGNATURE.search(text):
        message = f'source "{name}": its signature does not hold with keyring {blamed.keyring_path}: {text}'
        raise ResolveError(message, hint="get the keyring from the archive's owner; never skip this check")
    if _DATE.search(text):
        message = f'source "{name}": its Release file is out of date: {text}'
        hint = f"name a fresher mirror: {mirror_setting(name)}; or accept it: check-valid-until = false in matrix.toml"
        raise ResolveError(message, hint=hint)
    raise ResolveError(f'source "{name}": apt-get update failed: {text}', hint=mirror_setting(name))


def _names(archive: Archive, line: str) -> bool:
    url = re.sub("^file://", "file:", hide_password(archive.url))  # as apt writes it
    places = (f"{url}{form}" for suite in archive.source.suites for form in (f" {suite} ", f"/dists/{suite}/"))
    return any(place in line for place in places)


def _find_lists(path: Path, archives: tuple[Archive, ...], environ: Mapping[str, str]) -> tuple[PackageList, ...]:
    fields = "$(SOURCESENTRY)\t$(FILENAME)\t$(ORIGIN)\t$(LABEL)\t$(SUITE)\t$(CODENAME)\t$(CREATED_BY)"
    finished = _run(path, environ, "apt-get", "indextargets", "--format", fields)
    found = []
    for line in sorted(finished.stdout.splitlines()):
        entry, file, origin, label, suite, codename, created_by = line.split("\t")
        if created_by == "Packages" and Path(file).exists():
            number = int(Path(entry.rpartition(":")[0]).stem)
            values = {"o": origin, "l": label, "a": suite, "n": codename}
            named = [f"{key}={value}" for key, value in values.items() if value and not value.startswith("$(")]
            pin = f"release {', '.join(named)}" if named else ""
            found.append(PackageList(archive=archives[number], path=Path(file), pin=pin))
    return tuple(found)
