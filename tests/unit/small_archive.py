"""A real, signed Debian archive in a folder: debs made by dpkg-deb, Release files signed by throwaway keys."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NEEDED = ("apt-get", "dpkg-deb", "gpg")
"""Programs; where one is missing, the tests are skipped."""

LACKS = next((f"no {program} here" for program in NEEDED if shutil.which(program) is None), "")


@dataclass(frozen=True, kw_only=True)
class SmallDeb:
    """A package without files."""

    name: str
    version: str = "1.0-1"
    depends: str = ""
    architecture: str = "amd64"
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def file(self) -> str:
        return f"{self.name}_{self.version.rpartition(':')[2]}_{self.architecture}.deb"

    @property
    def control(self) -> str:
        depends = {"Depends": self.depends} if self.depends else {}
        values = {
            "Package": self.name, "Version": self.version, "Architecture": self.architecture, **depends, **self.fields,
            "Maintainer": "Nobody <nobody@invalid>", "Description": "small",
        }  # fmt: skip
        return "".join(f"{key}: {value}\n" for key, value in values.items())


class Key:
    """A signing key in a folder of its own."""

    def __init__(self, folder_path: Path) -> None:
        folder_path.mkdir(mode=0o700, parents=True)
        self._environ = {**os.environ, "GNUPGHOME": str(folder_path)}
        self.keyring_path = folder_path / "key.gpg"
        self._gpg("--passphrase", "", "--quick-gen-key", "small <small@invalid>", "ed25519", "sign", "never")
        self._gpg("--output", str(self.keyring_path), "--export")

    def sign(self, release_path: Path) -> None:
        """InRelease beside Release."""
        self._gpg("--output", str(release_path.with_name("InRelease")), "--clearsign", str(release_path))

    def close(self) -> None:
        """End the agent that gpg started."""
        subprocess.run(["gpgconf", "--kill", "all"], env=self._environ, check=False)

    def _gpg(self, *arguments: str) -> None:
        options = ("--batch", "--quiet", "--yes", "--pinentry-mode", "loopback")
        subprocess.run(["gpg", *options, *arguments], env=self._environ, check=True)


def add_suite(
    archive_path: Path,
    suite: str,
    debs: Sequence[SmallDeb],
    key: Key | None,
    release: Mapping[str, str] | None = None,
) -> None:
    """Write debs into the pool and a signed suite that lists them; no key: no signature."""
    packages = "\n".join(_write_deb(archive_path, deb) for deb in debs).encode()
    folder_path = archive_path / "dists" / suite
    (folder_path / "main/binary-amd64").mkdir(parents=True)
    (folder_path / "main/binary-amd64/Packages").write_bytes(packages)
    values = {
        "Origin": "Small", "Label": "Small", "Suite": suite, "Codename": suite, "Date": "Thu, 01 Jan 2026 00:00:00 UTC",
        "Architectures": "amd64", "Components": "main", **(release or {}),
    }  # fmt: skip
    text = "".join(f"{name}: {value}\n" for name, value in values.items() if value)
    text += f"SHA256:\n {hashlib.sha256(packages).hexdigest()} {len(packages)} main/binary-amd64/Packages\n"
    (folder_path / "Release").write_text(text)
    if key:
        key.sign(folder_path / "Release")


def _write_deb(archive_path: Path, deb: SmallDeb) -> str:
    path = archive_path / "pool" / deb.name[0] / deb.file
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        tree_path = archive_path / "build" / deb.file
        (tree_path / "DEBIAN").mkdir(parents=True)
        (tree_path / "DEBIAN" / "control").write_text(deb.control)
        command = ["dpkg-deb", "--root-owner-group", "--build", str(tree_path), str(path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    content = path.read_bytes()
    place = path.relative_to(archive_path).as_posix()
    return f"{deb.control}Filename: {place}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"
