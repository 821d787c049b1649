"""A row of matrix.toml without its framework → its debs from the real archive, resolved now, unpacked and assembled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from rockiln.assemble.rootfs import assemble
from rockiln.compatibility import read_compatibility
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.fetch import fetch_artifacts
from rockiln.folders import Folders
from rockiln.locked import Lock, LockedTarget
from rockiln.manifest import Entry, Unpacked
from rockiln.matrix import read_matrix
from rockiln.plan import PlannedTarget, make_plan
from rockiln.recipe import read_recipes
from rockiln.resolve.targets import resolve_targets
from rockiln.rootfs import Rootfs
from rockiln.sandbox import NamespaceSandbox
from rockiln.store import Store
from rockiln.unpack.artifacts import unpack_artifacts

ROOT = Path(__file__).parents[1]
LARGE = frozenset({
    "libhipblas3", "libhipblaslt1", "libhipfft0", "libhipsolver1", "libhipsolver-fortran1", "libhipsparse4", "lld",
    "libhipsparselt0", "libmiopen1", "librccl1", "librocblas5", "librocfft0", "librocrand1", "librocsolver0",
    "librocsparse1",
})  # fmt: skip
"""ROCm's libraries: gigabytes, and no script in any of them."""


class DebianTree:
    """One system, with packages besides those of its recipe; everything below one folder."""

    def __init__(self, os_name: str, path: Path, extra: Sequence[str] = ()) -> None:
        self.folders = Folders(project_path=ROOT, cache_path=path / "cache", build_path=path / "build")
        self.contents = Contents(self.folders.contents_path)
        self.store = Store(self.folders.store_path)
        self.matrix = read_matrix(ROOT / "matrix.toml")
        self.planned = self._plan(os_name, extra)

    def _plan(self, os_name: str, extra: Sequence[str]) -> PlannedTarget:
        plan = make_plan(self.matrix, read_recipes(ROOT / "images"), read_compatibility())
        row = next(planned for planned in plan.targets if planned.target.os == os_name)
        packages = [name for name in row.recipe.packages if name not in LARGE]
        recipe = replace(row.recipe, packages=(*packages, *extra), edits=(), own_wheels=(), own_wheels_if_there=())
        target = replace(row.target, plugins=())
        return replace(row, target=target, recipe=recipe, taken=replace(row.taken, wheels=()))

    @cached_property
    def locked(self) -> LockedTarget:
        """Debs, and the wheels that the recipe itself asks for (pip)."""
        lock = resolve_targets(
            (self.planned,), self.matrix, Lock(targets={}, unresolved={}), self.store, self.folders, os.environ,
            Console(None),
        )  # fmt: skip
        return lock.targets[self.planned.id]

    @cached_property
    def unpacked(self) -> tuple[Unpacked, ...]:
        artifacts, python = self.locked.artifacts, self.planned.target.python
        fetch_artifacts(artifacts, self.matrix, self.store, os.environ, 4, Console(None))
        return unpack_artifacts(
            artifacts, self.store, self.contents, self.folders.unpacked_path, python, 2, Console(None)
        )

    def assemble(self, generated: Sequence[Entry] = (), requested: Sequence[str] | None = None) -> Rootfs:
        locked = self.locked if requested is None else replace(self.locked, requested=tuple(requested))
        return assemble(
            self.planned, locked, self.unpacked, self.contents, NamespaceSandbox(), self.folders.cache_path, generated,
            2, Console(None),
        )  # fmt: skip
