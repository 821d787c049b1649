"""Command line and environment → Invocation: what every verb is given. Built once, in cli.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from rockiln.compatibility import read_compatibility
from rockiln.console import Console
from rockiln.errors import UsageError
from rockiln.folders import Folders
from rockiln.lock import Lock, read_lock
from rockiln.matrix import Matrix, read_matrix
from rockiln.plan import Plan, PlannedTarget, make_plan, select_targets
from rockiln.recipe import read_recipes
from rockiln.tables import quote, suggest


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """Host facts and the project's files; each file is read at most once, when first asked for."""

    folders: Folders
    environ: Mapping[str, str]
    console: Console
    jobs: int
    mirrors: Mapping[str, tuple[str, ...]]
    """From --mirror; these go before matrix.toml's."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970: for records of what was done, and tags with a date; never for what is in an image."""

    @property
    def matrix_path(self) -> Path:
        return self.folders.project_path / "matrix.toml"

    @property
    def lock_path(self) -> Path:
        return self.folders.project_path / "matrix.lock"

    @cached_property
    def matrix(self) -> Matrix:
        """The matrix, with the command line's mirrors first."""
        matrix = read_matrix(self.matrix_path)
        for name in self.mirrors.keys() - matrix.sources.keys():
            hint = "a mirror is named after a key of [sources] in matrix.toml"
            raise UsageError(f"--mirror: no source {quote(name)}{suggest(name, matrix.sources)}", hint=hint)
        known = dict(matrix.mirrors)
        extra = {name: (*urls, *known.get(name, ())) for name, urls in self.mirrors.items()}
        return replace(matrix, mirrors={**known, **extra})

    @cached_property
    def plan(self) -> Plan:
        """The whole plan."""
        recipes = read_recipes(self.folders.project_path / "images")
        return make_plan(self.matrix, recipes, read_compatibility())

    @cached_property
    def lock(self) -> Lock:
        """matrix.lock as it stood when this invocation began; empty when there is none."""
        return read_lock(self.lock_path)

    def select(self, globs: tuple[str, ...]) -> tuple[PlannedTarget, ...]:
        """The planned targets that `globs` name; all of them for no globs. Raises PlanError."""
        return select_targets(self.plan, globs)
