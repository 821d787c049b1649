"""Built debs → an apt archive: pool, Packages, Release, and signatures by a throwaway key."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deb_file import BuiltDeb

RELEASE_DATE = "Fri, 10 Oct 2025 00:00:00 UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One dists/SUITE of an archive."""

    name: str
    origin: str
    components: tuple[str, ...]
    version: str = ""


class SigningKey:
    """A key that lives in one folder and signs Release files; worth nothing outside the mirror."""

    def __init__(self, home_path: Path) -> None:
        home_path.mkdir(mode=0o700, parents=True)
        self._home_path = home_path
        user = "rockiln test mirror <mirror@invalid>"
        self._gpg("--passphrase", "", "--quick-gen-key", user, "ed25519", "sign", "never")

    def export(self, keyring_path: Path) -> None:
        """Write the public key in the binary form that apt's signed-by takes."""
        keyring_path.parent.mkdir(parents=True, exist_ok=True)
        self._gpg("--output", str(keyring_path), "--export")

    def sign(self, release_path: Path) -> None:
        """Make InRelease and Release.gpg beside Release."""
        folder = release_path.parent
        self._gpg("--output", str(folder / "InRelease"), "--clearsign", str(release_path))
        self._gpg("--armor", "--output", str(folder / "Release.gpg"), "--detach-sign", str(release_path))

    def close(self) -> None:
        """End the agent that gpg started for this key."""
        subprocess.run(["gpgconf", "--homedir", str(self._home_path), "--kill", "all"], check=False)

    def _gpg(self, *arguments: str) -> None:
        environ = {**os.environ, "GNUPGHOME": str(self._home_path)}
        options = ("--batch", "--quiet", "--yes", "--pinentry-mode", "loopback")
        subprocess.run(["gpg", *options, *arguments], check=True, env=environ)


def write_archive(archive_path: Path, suites: Sequence[Suite], debs: Sequence[BuiltDeb], key: SigningKey) -> None:
    """Write dists/ for debs that lie in the archive's pool. All debs go to the first suite's first component."""
    for suite in suites:
        folder = archive_path / "dists" / suite.name
        for component in suite.components:
            is_first = suite is suites[0] and component == suite.components[0]
            _write_packages(archive_path, folder / component / "binary-amd64", debs if is_first else ())
        _write_release(folder, suite)
        key.sign(folder / "Release")


def _write_packages(archive_path: Path, folder: Path, debs: Sequence[BuiltDeb]) -> None:
    folder.mkdir(parents=True)
    ordered = sorted(debs, key=lambda built: built.deb.name)
    text = "\n".join(_describe_deb(built, archive_path) for built in ordered).encode()
    (folder / "Packages").write_bytes(text)
    (folder / "Packages.gz").write_bytes(gzip.compress(text, mtime=0))


def _describe_deb(built: BuiltDeb, archive_path: Path) -> str:
    content = built.path.read_bytes()
    return (
        f"{built.control}"
        f"Filename: {built.path.relative_to(archive_path)}\n"
        f"Size: {len(content)}\n"
        f"SHA256: {hashlib.sha256(content).hexdigest()}\n"
    )


def _write_release(folder: Path, suite: Suite) -> None:
    lines = [
        f"Origin: {suite.origin}",
        f"Label: {suite.origin}",
        f"Suite: {suite.name}",
        f"Codename: {suite.name}",
        *([f"Version: {suite.version}"] if suite.version else []),
        f"Date: {RELEASE_DATE}",
        "Architectures: amd64",
        f"Components: {' '.join(suite.components)}",
        "SHA256:",
    ]
    for path in sorted(folder.rglob("Packages*")):
        content = path.read_bytes()
        lines.append(f" {hashlib.sha256(content).hexdigest()} {len(content)} {path.relative_to(folder)}")
    (folder / "Release").write_text("\n".join(lines) + "\n")
