"""Our side: rockiln build as a command, from a warm store, in a project copy of its own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from measure import Measured, measure

from rockiln.artifact import Artifact
from rockiln.lock import read_lock, write_lock
from rockiln.store import Store

ROOT = Path(__file__).parents[2]


def copy_project(project_path: Path) -> None:
    """What builds read of this one."""
    project_path.mkdir()
    for name in ("images", "plugins", "compat"):
        shutil.copytree(ROOT / name, project_path / name, ignore=shutil.ignore_patterns("__pycache__", "build"))
    for name in ("matrix.toml", "matrix.lock"):
        shutil.copyfile(ROOT / name, project_path / name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RockilnBuilder:
    """One target, built in a copy of the project with a cache of its own."""

    target_id: str
    project_path: Path
    cache_path: Path

    @classmethod
    def prepare(cls, folder: Path, target_id: str) -> RockilnBuilder:
        """Copy the project's inputs and fetch every artifact: the warm store."""
        project_path = folder / "project"
        copy_project(project_path)
        builder = cls(target_id=target_id, project_path=project_path, cache_path=folder / "cache")
        builder._run("fetch", "--relock-gone", target_id)
        return builder

    @property
    def store(self) -> Store:
        return Store(self.cache_path / "store")

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        return read_lock(self.project_path / "matrix.lock").targets[self.target_id].artifacts

    def build(self, *, cold: bool = False, compression: str = "gzip") -> Measured:
        """`rockiln build`; `cold` forgets all but the store first, outside the measurement."""
        if cold:
            for name in ("contents", "unpacked", "layers", "bytecode", "loader-cache", "trees"):
                shutil.rmtree(self.cache_path / name, ignore_errors=True)
            shutil.rmtree(self.project_path / "build", ignore_errors=True)
        return self._run("build", "--compression", compression, self.target_id)

    def replace_wheel(self, old: Artifact, changed_path: Path) -> None:
        """Lock the changed wheel in place of the old one, and put it into the store."""
        content = changed_path.read_bytes()
        sha256 = hashlib.sha256(content).hexdigest()
        new = dataclasses.replace(old, sha256=sha256, size_bytes=len(content))
        self.store.adopt(new, changed_path)
        lock_path = self.project_path / "matrix.lock"
        lock = read_lock(lock_path)
        target = lock.targets[self.target_id]
        artifacts = tuple(new if artifact == old else artifact for artifact in target.artifacts)
        changed = dataclasses.replace(target, artifacts=artifacts)
        write_lock(dataclasses.replace(lock, targets={**lock.targets, self.target_id: changed}), lock_path)

    def measure_sizes(self) -> tuple[int, int]:
        """Bytes of the layers as they would be pushed, and unpacked."""
        path = self.project_path / "build" / self.target_id / "image.json"
        layers = json.loads(path.read_text(encoding="utf-8"))["layers"]
        return sum(layer["size_bytes"] for layer in layers), sum(layer["unpacked_bytes"] for layer in layers)

    def _run(self, *words: str) -> Measured:
        argv = [sys.executable, "-m", "rockiln", "--quiet", "--cache", str(self.cache_path), *words]
        return measure(argv, cwd=self.project_path, environ=dict(os.environ))
