"""Small real debs, made with dpkg-deb and taken apart by rockiln: a few files, scripts and fields each."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from imaging import make_entry

from rockiln.artifact import Artifact
from rockiln.assemble.effects import Effect
from rockiln.assemble.tree import Tree, complete
from rockiln.contents import Contents
from rockiln.manifest import Unpacked
from rockiln.unpack.deb import unpack_deb

EFFECT = Effect(
    package="tiny", reviewed=frozenset(), why="", places=(), alternatives=(), diversions=(), groups=(), group_files=(),
    apply=(),
)  # fmt: skip
"""An effect that does nothing, for `dataclasses.replace`."""


def build_deb(
    path: Path,
    name: str,
    files: Mapping[str, str],
    scripts: Mapping[str, str] | None = None,
    fields: Mapping[str, str] | None = None,
    version: str = "1.0",
    modes: Mapping[str, int] | None = None,
) -> Path:
    """NAME_VERSION_amd64.deb in `path`. "-> target" makes a symlink; a path that ends in / a folder."""
    tree = path / f"{name}-tree"
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "DEBIAN").mkdir(parents=True)
    control = {
        "Package": name, "Version": version, "Architecture": "amd64", "Maintainer": "Test <test@example.org>",
        "Description": "a test", **(fields or {}),
    }  # fmt: skip
    (tree / "DEBIAN" / "control").write_text("".join(f"{key}: {value}\n" for key, value in control.items()))
    for script, text in (scripts or {}).items():
        (tree / "DEBIAN" / script).write_text(text)
        is_program = script in {"preinst", "postinst", "prerm", "postrm", "config"}
        (tree / "DEBIAN" / script).chmod(0o755 if is_program else 0o644)
    for place, text in files.items():
        _write(tree / place, place, text)
    for folder, _, names in os.walk(tree):
        Path(folder).chmod(0o755)
        for file in names:
            if not (Path(folder) / file).is_symlink() and Path(folder).name != "DEBIAN":
                (Path(folder) / file).chmod(0o644)
    for place, mode in (modes or {}).items():
        (tree / place).chmod(mode)
    deb_path = path / f"{name}_{version}_amd64.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Znone", "--nocheck", "--build", str(tree), str(deb_path)]
    subprocess.run(command, check=True, capture_output=True)
    return deb_path


def _write(path: Path, place: str, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if place.endswith("/"):
        path.mkdir(exist_ok=True)
    elif text.startswith("-> "):
        path.symlink_to(text[3:])
    else:
        path.write_text(text)


def read_deb(path: Path, contents: Contents, source: str = "debian-12") -> Unpacked:
    """The deb, unpacked as the pipeline does it."""
    data = path.read_bytes()
    name, version, architecture = path.name.removesuffix(".deb").split("_")
    artifact = Artifact(
        kind="deb", name=name, version=version, architecture=architecture, source=source, path=f"pool/{path.name}",
        sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data),
    )  # fmt: skip
    with path.open("rb") as file:
        return unpack_deb(artifact, file, contents)


def make_tree(contents: Contents, items: Mapping[str, str | bytes], owner: str = "deb:tiny") -> Tree:
    """A tree of one owner: bytes are a file, "-> target" a symlink, "" a folder (see imaging)."""
    entries = {path: make_entry(contents, path, owner, content) for path, content in items.items()}
    return Tree(entries=complete(entries), contents=contents)
