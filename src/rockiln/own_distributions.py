"""Project folder → OwnDistribution: each plugin, compat, and what they make (packs), with its files and their hash."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from rockiln.source_tree import hash_files, list_tree
from rockiln.tables import Table, quote, read_toml

ARCH = "{arch}"
FOLDER = "{folder}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """How a distribution makes another one: [tool.rockiln.makes."NAME-{arch}"] of its pyproject.toml."""

    arch: str
    extra: str
    """Of the maker, that its program needs."""
    command: tuple[str, ...]
    """A program of the maker; it leaves the other distribution's sources in {folder}/project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWheels:
    """[[own-wheels]] of a recipe: distributions of this repository that an image holds."""

    names: tuple[str, ...]
    """`{framework}` and `{arch}` stand for the row's; a name with the latter is one name an arch."""
    if_there: bool
    """Whether a row goes without one that the repository does not have."""

    def name_all(self, framework: str, archs: tuple[str, ...]) -> tuple[str, ...]:
        """The names for one row."""
        named = [name.replace("{framework}", framework) for name in self.names]
        return tuple(name.replace(ARCH, arch) for name in named for arch in (archs if ARCH in name else ("",)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDistribution:
    """A distribution of this repository. A made one has its maker's folder and files."""

    name: str
    """As indexes compare names."""
    project_path: Path
    folder: Path
    left_out: tuple[str, ...] = ()
    """Names at the top of the folder that no wheel is made of, such as tests."""
    beside: tuple[str, ...] = ()
    """Folders elsewhere in the project that it is made of too, such as another plugin's headers."""
    requires: tuple[str, ...] = ()
    """Names of what it depends on; a made one depends on its maker alone."""
    making: Making | None = None

    def list_sources(self) -> Iterator[tuple[str, Path]]:
        """Every file that decides its bytes: name below the project, and path."""
        for folder, left_out in ((self.folder, self.left_out), *((self.project_path / one, ()) for one in self.beside)):
            for path in list_tree(folder, frozenset(left_out)):
                yield path.relative_to(self.project_path).as_posix(), path

    def hash_sources(self) -> str:
        """The same for the same sources, whatever the clone; what is made for two archs differs."""
        tree = hash_files(self.list_sources())
        return hashlib.sha256(f"{tree} {self.name}".encode()).hexdigest() if self.making else tree

    def copy_sources(self, target: Path) -> Path:
        """Nothing but the sources, as they lie in the project; the distribution's folder below `target`."""
        for name, path in self.list_sources():
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place, follow_symlinks=False)
        return target / self.folder.relative_to(self.project_path)


def read_own_wheels(table: Table) -> OwnWheels:
    """One [[own-wheels]] section, but for its `when`."""
    found = OwnWheels(names=table.texts("names"), if_there=table.flag("if-there", default=False))
    table.text("why")
    return found


def find_distributions(project_path: Path) -> Mapping[str, OwnDistribution]:
    """This repository's own, name → distribution: of plugins/*/ and compat/, each with a pyproject.toml, and what they
    make. Raises FileFaultsError with every fault of a [tool.rockiln]."""
    found: dict[str, OwnDistribution] = {}
    for folder in [*sorted((project_path / "plugins").glob("*")), project_path / "compat"]:
        if (folder / "pyproject.toml").is_file():
            found |= {one.name: one for one in _read_distributions(project_path, folder)}
    return found


def select_own(
    wanted: Iterable[str], optional: Iterable[str], distributions: Mapping[str, OwnDistribution]
) -> tuple[str, ...]:
    """Names of `wanted`, of `optional` if they are there, and of own distributions that these depend on; sorted."""
    open_names: list[str] = [canonicalize_name(name) for name in wanted]
    open_names += [name for name in map(canonicalize_name, optional) if name in distributions]
    chosen: set[str] = set()
    while open_names:
        name = open_names.pop()
        if name not in chosen:
            chosen.add(name)
            requires = distributions[name].requires if name in distributions else ()
            open_names += [other for other in requires if other in distributions]
    return tuple(sorted(chosen))


def _read_distributions(project_path: Path, folder: Path) -> Iterator[OwnDistribution]:
    top = read_toml(folder / "pyproject.toml", (folder / "pyproject.toml").relative_to(project_path).as_posix())
    project, own = top.table("project"), top.table("tool").table("rockiln")
    name = project.text("name", "")
    left_out, beside = own.texts("left-out", ("tests",)), own.texts("beside", ())
    for index, path in enumerate(beside):
        if path.startswith("/") or ".." in PurePosixPath(path).parts or not (project_path / path).is_dir():
            own.fault("beside", f"{quote(path)} is no folder of this project, as written from its top", index)
    made = [one for key, table in own.named_tables("makes").items() for one in _read_makings(key, table)]
    requires = tuple(_read_names(project.texts("dependencies", ())))
    own.refuse_others()
    top.faults.raise_any()
    if name:
        maker = OwnDistribution(
            name=canonicalize_name(name), project_path=project_path, folder=folder, left_out=left_out, beside=beside,
            requires=requires,
        )  # fmt: skip
        yield maker
        yield from (replace(maker, name=key, requires=(maker.name,), making=making) for key, making in made)


def _read_makings(key: str, table: Table) -> Iterator[tuple[str, Making]]:
    archs, extra, command = table.texts("archs"), table.text("extra", ""), table.texts("command")
    table.refuse_others()
    if ARCH not in key:
        table.faults.add(table.key, f'a made distribution is called "NAME-{ARCH}"')
    for arch in archs:
        yield canonicalize_name(key.replace(ARCH, arch)), Making(arch=arch, extra=extra, command=command)


def _read_names(requirements: Iterable[str]) -> Iterator[str]:
    for text in requirements:
        try:
            yield canonicalize_name(Requirement(text).name)
        except InvalidRequirement:
            continue  # its build backend will say so, in better words
