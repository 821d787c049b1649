"""A distribution of this repository → its wheel, kept by the hash of its sources: the same sources are built once."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rockiln.artifact import OWN, Artifact
from rockiln.console import Console
from rockiln.disk import disk_faults_named
from rockiln.errors import IntegrityError, ResolveError
from rockiln.matrix import Matrix
from rockiln.own_distributions import OwnDistribution, find_distributions
from rockiln.resolve.build_backend import BuildTools, repack
from rockiln.resolve.hosts import source_urls
from rockiln.resolve.wheel_directory import make_wheel_artifact
from rockiln.resolve.wheel_tags import WheelPlatform, best_wheel, parse_wheel_name
from rockiln.store import Store, hash_file

FOLDER = "own-wheels"
"""In the cache: wheels by the hash of their sources."""
COMPILER_HINT = "compilers write other bytes in other versions: run: rockiln lock --refresh own"


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
        known = find_distributions(self.project_path)
        built = {}
        for name in names:
            own = known.get(canonicalize_name(name))
            if own is None:
                there = ", ".join(sorted(known)) or "none"
                raise ResolveError(f"{name} is no distribution of this repository; plugins/ and compat/ hold: {there}")
            artifact = self.make_artifact(own)
            if best_wheel(filter(None, [parse_wheel_name(artifact.file)]), platform) is None:
                where = f"Python {platform.python} and glibc {platform.glibc}"
                raise ResolveError(f"{artifact.file}, built from {own.folder}, does not fit {where}")
            built[Requirement(f"{artifact.name}=={artifact.version}")] = artifact
        return built

    def make_artifact(self, own: OwnDistribution) -> Artifact:
        """Build the wheel, unless these very sources were built before, and put it into the store."""
        path = self._keep_wheel(own)
        wheel = parse_wheel_name(path.name)
        if wheel is None:
            raise ResolveError(f"{own.name}: its build backend made {path.name}, which is no wheel's name")
        artifact = replace(make_wheel_artifact(OWN, wheel, *hash_file(path)), source_tree=own.hash_sources())
        if not self.store.holds(artifact):
            self.store.adopt(artifact, path)
        return artifact

    def bring(self, artifact: Artifact) -> None:
        """Have a locked own wheel in the store, built from the sources that are here; IntegrityError if it differs."""
        own = find_distributions(self.project_path).get(artifact.name)
        made = self.make_artifact(own) if own else None
        if made != artifact:
            message = f"{artifact.file}, built from {own.folder if own else self.project_path}, is not the one locked"
            is_same_tree = made is not None and made.source_tree == artifact.source_tree
            hint = COMPILER_HINT if is_same_tree else "run: rockiln lock; or check out the sources that were locked"
            raise IntegrityError(message, hint=hint)

    def _keep_wheel(self, own: OwnDistribution) -> Path:
        kept_path = self.cache_path / FOLDER / own.hash_sources()
        return next(iter(sorted(kept_path.glob("*.whl"))), None) or self._build(own, kept_path)

    def _build(self, own: OwnDistribution, kept_path: Path) -> Path:
        self.console.say(f"building the wheel of {own.name}")
        tools = BuildTools(index_url=self.index_url, environ=self.environ, name=own.name)
        with disk_faults_named(kept_path):
            kept_path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="build-", dir=kept_path.parent) as name:
                scratch = Path(name)
                if own.making:
                    maker_path = self._keep_wheel(find_distributions(self.project_path)[own.requires[0]])
                    self.console.say(f"compiling {own.name}: minutes, where nothing of it is kept from before")
                    folder = tools.make_sources(maker_path, own.making, scratch)
                else:
                    folder = own.copy_sources(scratch / "sources")
                raw_path = tools.build_wheel(folder, scratch)
                made_path = scratch / raw_path.name
                repack(raw_path, made_path)
                kept_path.mkdir(exist_ok=True)
                return made_path.replace(kept_path / made_path.name)


def forget_own_wheels(project_path: Path, cache_path: Path) -> None:
    """Have the wheels of today's sources built anew: the compiler may be another one than when they were."""
    for own in find_distributions(project_path).values():
        shutil.rmtree(cache_path / FOLDER / own.hash_sources(), ignore_errors=True)


def bring_own_wheels(
    artifacts: Iterable[Artifact], matrix: Matrix, store: Store, cache_path: Path, environ: Mapping[str, str],
    console: Console,
) -> None:  # fmt: skip
    """Build the locked own wheels that the store does not hold. IntegrityError if the sources here are not those."""
    missing = [artifact for artifact in artifacts if artifact.source == OWN and not store.holds(artifact)]
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


def find_unmet(own: Iterable[Artifact], wheels: Iterable[Artifact], store: Store, python: str) -> tuple[str, ...]:
    """What the own wheels require and `wheels` do not fill; extras, which nobody asks for, do not count."""
    versions = {canonicalize_name(wheel.name): wheel.version for wheel in wheels}
    marks = {"extra": "", "python_version": ".".join(python.split(".")[:2]), "python_full_version": python}
    required = {text for artifact in own for text in _read_required(store.path_of(artifact))}
    wanted = [one for one in map(Requirement, sorted(required)) if one.marker is None or one.marker.evaluate(marks)]
    return tuple(
        str(one)
        for one in wanted
        if not one.specifier.contains(versions.get(canonicalize_name(one.name), "0!0.dev0"), prereleases=True)
        or canonicalize_name(one.name) not in versions
    )


def _read_required(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as wheel:
        member = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(wheel.read(member).decode()).get_all("Requires-Dist") or []
