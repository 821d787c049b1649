"""A staged tree + control fields → .deb, by dpkg-deb; the same bytes whatever the clock and the umask."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

EPOCH_S = 315532800
CONTROL_FILE_MODES = {"preinst": 0o755, "postinst": 0o755, "prerm": 0o755, "postrm": 0o755, "config": 0o755}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deb:
    """What a deb says of itself. `fields` are control fields besides Package, Version, Architecture and sizes."""

    name: str
    version: str
    architecture: str = "amd64"
    fields: Mapping[str, str]
    control_files: Mapping[str, str] = field(default_factory=dict)
    """postinst, conffiles, triggers…: name → text."""
    compression: str = "gzip"

    @property
    def file(self) -> str:
        """File name as pools have it: without the epoch."""
        return f"{self.name}_{self.version.partition(':')[2] or self.version}_{self.architecture}.deb"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltDeb:
    deb: Deb
    path: Path
    control: str


def build_deb(deb: Deb, tree_path: Path, pool_path: Path) -> BuiltDeb:
    """Pack `tree_path` into the pool; the tree is used up."""
    control = _write_control(deb, tree_path)
    folder = pool_path / deb.name[:1] / deb.name
    folder.mkdir(parents=True, exist_ok=True)
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH_S), "LC_ALL": "C.UTF-8"}
    options = ("--root-owner-group", f"-Z{deb.compression}", "-z1", "--build")
    command = ["dpkg-deb", *options, str(tree_path), str(folder / deb.file)]
    subprocess.run(command, check=True, env=environ, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree_path)
    return BuiltDeb(deb=deb, path=folder / deb.file, control=control)


def _write_control(deb: Deb, tree_path: Path) -> str:
    md5sums, size_bytes = _sum_files(tree_path)
    fields = {
        "Package": deb.name,
        "Version": deb.version,
        "Architecture": deb.architecture,
        "Installed-Size": str(-(-size_bytes // 1024)),
        **deb.fields,
    }
    control = "".join(f"{name}: {value}\n" for name, value in fields.items())
    folder = tree_path / "DEBIAN"
    folder.mkdir(mode=0o755)
    for name, text in {"control": control, "md5sums": md5sums, **deb.control_files}.items():
        path = folder / name
        path.write_text(text)
        path.chmod(CONTROL_FILE_MODES.get(name, 0o644))
    return control


def _sum_files(tree_path: Path) -> tuple[str, int]:
    lines, size_bytes = [], 0
    for path in sorted(tree_path.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        size_bytes += len(content)
        digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
        lines.append(f"{digest}  {path.relative_to(tree_path)}\n")
    return "".join(lines), size_bytes
