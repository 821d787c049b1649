"""RecipeFile + Target → Recipe: what an image holds and how it starts. Data only; there is no shell in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from packaging.requirements import Requirement

from rockiln.budget import Budget, merge_budgets
from rockiln.expected_findings import ExpectedFinding
from rockiln.matrix import Target
from rockiln.recipe_file import FileEdit, RecipeFile, User, read_recipes
from rockiln.slim_rules import DropRule, ShareRule, StripRule

__all__ = ["DropRule", "FileEdit", "Recipe", "User", "read_recipes", "select_recipe"]

Value = TypeVar("Value")
DEFAULT_LAYER_BUDGET = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The file, with what it `extends` merged in."""

    name: str
    path: Path
    packages: tuple[str, ...]
    """Debian package names asked for, this os and flavour selected; apt adds what they depend on."""
    env: Mapping[str, str]
    workdir: str
    user: str
    cmd: tuple[str, ...]
    labels: Mapping[str, str]
    writable_folders: tuple[str, ...]
    """Made with mode 1777, so that any uid may write: caches."""
    files: Mapping[str, str]
    """Small text files to add: image path → text."""
    edits: tuple[FileEdit, ...]
    drops: tuple[DropRule, ...]
    users: tuple[User, ...]
    layer_budget: int
    """At most so many layers."""
    smoke_tiers: tuple[str, ...]
    """Tiers that exist for this recipe: "cpu", "gpu", "multi-gpu"."""
    required_tiers: tuple[str, ...]
    wheels: tuple[Requirement, ...] = ()
    """Wheels besides the framework's (pip); planning adds them to those of the taken candidate."""
    own_wheels: tuple[str, ...] = ()
    """Distributions of this repository."""
    own_wheels_if_there: tuple[str, ...] = ()
    """The same, but where the repository has none of that name, the image goes without."""
    strips: tuple[StripRule, ...] = ()
    shares: tuple[ShareRule, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    """Symlinks to add: image path → target as written. For a name that no package brings."""
    budget: Budget = field(default_factory=Budget)
    expected: tuple[ExpectedFinding, ...] = ()
    """Findings of the audit that somebody has looked at."""
    provided_by_host: tuple[str, ...] = ()
    """"SONAME: why" of libraries that come from outside when the image runs."""
    """How large the image may be. It decides no byte of it."""
    smoke_paths: tuple[Path, ...] = ()
    """Folders of check_*.py programs: those of what this recipe extends first; the last of a name counts."""
    smoke_data: tuple[Path, ...] = ()
    """Folders that the checks may read."""

    @property
    def smoke_path(self) -> Path:
        """The recipe's own folder of check_*.py programs."""
        return self.path.parent / "smoke"


def select_recipe(recipes: Mapping[str, RecipeFile], target: Target) -> Recipe:
    """What `target.recipe` and the files it extends say for this target; the extended file comes first."""
    chain = _chain(recipes, target.recipe)
    packages = [found for file in chain for found in file.packages if found.when.holds(target)]
    return Recipe(
        name=target.recipe,
        path=chain[-1].path,
        packages=tuple(dict.fromkeys(name for found in packages for name in found.names)),
        wheels=tuple(wheel for found in packages for wheel in found.wheels),
        own_wheels=_name_own(chain, target, if_there=False),
        own_wheels_if_there=_name_own(chain, target, if_there=True),
        env={k: v for file in chain for env in file.env if env.when.holds(target) for k, v in env.values.items()},
        workdir=_last((file.workdir for file in chain), "/"),
        user=_last((file.user for file in chain), "root"),
        cmd=_last((file.cmd for file in chain), ()),
        labels={key: text for file in chain for key, text in file.labels.items()},
        writable_folders=tuple(dict.fromkeys(path for file in chain for path in file.writable_folders)),
        links={link.path: link.target for file in chain for when, link in file.links if when.holds(target)},
        files={path: text for file in chain for path, text in file.files.items()},
        edits=tuple(_place(edit, target) for file in chain for when, edit in file.edits if when.holds(target)),
        drops=tuple(drop for file in chain for when, drop in file.drops if when.holds(target)),
        shares=tuple(share for file in chain for when, share in file.shares if when.holds(target)),
        strips=tuple(strip for file in chain for when, strip in file.strips if when.holds(target)),
        budget=merge_budgets(budget for file in chain for when, budget in file.budgets if when.holds(target)),
        users=tuple(user for file in chain for user in file.users),
        expected=tuple(one for file in chain for when, one in file.expected if when.holds(target)),
        provided_by_host=tuple(dict.fromkeys(line for file in chain for line in file.provided_by_host)),
        layer_budget=_last((file.layer_budget for file in chain), DEFAULT_LAYER_BUDGET),
        smoke_tiers=_keep_tiers(_last((file.smoke_tiers for file in chain), ()), target),
        required_tiers=_keep_tiers(_last((file.required_tiers for file in chain), ()), target),
        smoke_data=tuple(dict.fromkeys(file.path.parents[2] / path for file in chain for path in file.smoke_data)),
        smoke_paths=tuple(file.path.parent / "smoke" for file in chain),
    )


def _name_own(chain: tuple[RecipeFile, ...], target: Target, *, if_there: bool) -> tuple[str, ...]:
    found = (one for file in chain for when, one in file.own_wheels if one.if_there is if_there and when.holds(target))
    return tuple(dict.fromkeys(name for one in found for name in one.name_all(target.framework, target.archs)))


def _chain(recipes: Mapping[str, RecipeFile], name: str) -> tuple[RecipeFile, ...]:
    """The file and what it extends, outermost first. read_recipes has refused circles and unknown names."""
    file = recipes[name]
    return (*_chain(recipes, file.extends), file) if file.extends else (file,)


def _keep_tiers(tiers: tuple[str, ...], target: Target) -> tuple[str, ...]:
    """An image without ROCm has no GPU tiers."""
    return tuple(tier for tier in tiers if tier == "cpu" or target.rocm)


def _place(edit: FileEdit, target: Target) -> FileEdit:
    """`{python}` in the path of an edit is the image's Python, e.g. 3.12: wheels lie below its name."""
    return replace(edit, path=edit.path.replace("{python}", str(target.python)))


def _last(values: Iterable[Value | None], default: Value) -> Value:
    return [default, *(value for value in values if value is not None)][-1]
