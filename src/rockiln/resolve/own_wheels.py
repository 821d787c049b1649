"""A distribution of this repository → its wheel: the same bytes for the same source tree, wherever it is built."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rockiln.artifact import Artifact
from rockiln.console import Console
from rockiln.disk import disk_faults_named
from rockiln.errors import IntegrityError, ResolveError
from rockiln.matrix import Matrix
from rockiln.resolve.hosts import source_urls
from rockiln.resolve.uv_folder import KEPT_VARIABLES
from rockiln.resolve.wheel_directory import make_wheel_artifact
from rockiln.resolve.wheel_tags import WheelPlatform, best_wheel, parse_wheel_name
from rockiln.source_tree import find_distributions, hash_tree
from rockiln.store import Store, hash_file
from rockiln.tar_stream import EPOCH_S

SOURCE = "own"
"""Stands where other artifacts have a key of [sources.*]."""
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_DROPPED = ("UV_", "PIP_", "PYTHON")
"""Variables of the host that a build must not hear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBuilder:
    """What building works with. `index_url` serves the build backend."""

    project_path: Path
    cache_path: Path
    index_url: str
    store: Store
    environ: Mapping[str, str]
    console: Console

    def build(self, names: Iterable[str], platform: WheelPlatform) -> Mapping[Requirement, Artifact]:
        """A wheel for each distribution, in the store, as the pin that it fills."""
        folders = find_distributions(self.project_path)
        built = {}
        for name in names:
            folder = folders.get(canonicalize_name(name))
            if folder is None:
                known = ", ".join(sorted(folders)) or "none"
                raise ResolveError(f"{name} is no distribution of this repository; plugins/ and compat/ hold: {known}")
            artifact = self.make_artifact(folder)
            if best_wheel(filter(None, [parse_wheel_name(artifact.file)]), platform) is None:
                raise ResolveError(f"{artifact.file}, built from {folder}, does not fit Python {platform.python}")
            built[Requirement(f"{artifact.name}=={artifact.version}")] = artifact
        return built

    def make_artifact(self, folder: Path) -> Artifact:
        """Build the wheel of `folder`, unless this very tree was built before, and put it into the store."""
        kept_path = self.cache_path / "own-wheels" / hash_tree(folder)
        path = next(iter(sorted(kept_path.glob("*.whl"))), None) or self._build(folder, kept_path)
        wheel = parse_wheel_name(path.name)
        if wheel is None:
            raise ResolveError(f"{folder}: its build backend made {path.name}, which is no wheel's name")
        artifact = make_wheel_artifact(SOURCE, wheel, *hash_file(path))
        if not self.store.holds(artifact):
            self.store.adopt(artifact, path)
        return artifact

    def bring(self, artifact: Artifact) -> None:
        """Have a locked own wheel in the store, built from the tree that is here; IntegrityError if it differs."""
        folder = find_distributions(self.project_path).get(artifact.name)
        made = self.make_artifact(folder) if folder else None
        if made != artifact:
            message = f"{artifact.file}, built from {folder or self.project_path}, is not the one that is locked"
            raise IntegrityError(message, hint="run: rockiln lock; or check out the sources that were locked")

    def _build(self, folder: Path, kept_path: Path) -> Path:
        self.console.say(f"building the wheel of {folder}")
        with disk_faults_named(kept_path):
            kept_path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="build-", dir=kept_path.parent) as name:
                raw_path = _run_backend(folder, Path(name) / "raw", self.index_url, self.environ)
                made_path = Path(name) / raw_path.name
                repack(raw_path, made_path)
                kept_path.mkdir(exist_ok=True)
                return made_path.replace(kept_path / made_path.name)


def bring_own_wheels(
    artifacts: Iterable[Artifact], matrix: Matrix, store: Store, cache_path: Path, environ: Mapping[str, str],
    console: Console,
) -> None:  # fmt: skip
    """Build the locked own wheels that the store does not hold. IntegrityError if the sources here are not those."""
    missing = [artifact for artifact in artifacts if artifact.source == SOURCE and not store.holds(artifact)]
    if not missing:
        return
    indexes = (source for source in matrix.sources.values() if source.kind == "wheel-index" and not source.packages)
    builder = OwnBuilder(
        project_path=matrix.path.parent,
        cache_path=cache_path,
        index_url=next((url for source in indexes for url in source_urls(source, matrix, environ)), ""),
        store=store,
        environ=environ,
        console=console,
    )
    for artifact in missing:
        builder.bring(artifact)


def _run_backend(folder: Path, out_path: Path, index_url: str, environ: Mapping[str, str]) -> Path:
    from uv import find_uv_bin

    command = [
        find_uv_bin(), "build", "--wheel", "--no-config", "--default-index", index_url,
        "--no-python-downloads", "--python", sys.executable, "--out-dir", str(out_path), str(folder),
    ]  # fmt: skip
    kept = (name for name in environ if name in KEPT_VARIABLES or not name.startswith(_DROPPED))
    env = {name: environ[name] for name in kept}
    env |= {"SOURCE_DATE_EPOCH": str(EPOCH_S), "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    finished = subprocess.run(command, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    made = sorted(out_path.glob("*.whl"))
    if finished.returncode or len(made) != 1:
        why = " ".join(finished.stderr.partition("\nhint:")[0].split())
        raise ResolveError(f"{folder}: its wheel does not build: {why}")
    return made[0]


def repack(raw_path: Path, made_path: Path) -> None:
    """The same files, sorted, stored, with one time and plain modes: no zlib, umask or clock shows in the bytes."""
    with zipfile.ZipFile(raw_path) as raw, zipfile.ZipFile(made_path, "w", zipfile.ZIP_STORED) as made:
        members = [member for member in raw.infolist() if not member.is_dir()]
        for member in sorted(members, key=lambda item: (item.filename.endswith("/RECORD"), item.filename)):
            entry = zipfile.ZipInfo(member.filename, _ZIP_TIME)
            entry.create_system = 3
            entry.external_attr = (0o100755 if member.external_attr >> 16 & 0o100 else 0o100644) << 16
            made.writestr(entry, raw.read(member))
