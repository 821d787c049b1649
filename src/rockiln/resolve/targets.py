"""Planned targets + the lock there is → a new Lock: each target apart, what others share asked once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import groupby

from packaging.requirements import Requirement
from packaging.version import Version

from rockiln.artifact import OWN, Artifact
from rockiln.compress import compressor_versions
from rockiln.console import Console
from rockiln.download.client import open_client
from rockiln.download.patience import Patience
from rockiln.errors import ResolveError
from rockiln.folders import Folders
from rockiln.lock import (
    Lock,
    LockedTarget,
    Unresolved,
    find_own_faults,
    has_current_inputs,
    inputs_sha256,
    mirror_setting,
    own_names,
    possible_ids,
    requested_owners,
    wheel_pins,
)
from rockiln.locked import share_own_wheels
from rockiln.matrix import Matrix, Source
from rockiln.own_distributions import find_distributions
from rockiln.plan import PlannedTarget
from rockiln.resolve.apt_folder import AptFolder, Archive, find_keyring, open_apt, require_apt
from rockiln.resolve.debs import resolve_debs, upstream_version
from rockiln.resolve.host_index import find_index
from rockiln.resolve.own_wheels import OwnBuilder, find_unmet, forget_own_wheels
from rockiln.resolve.probe import CONNECT_S, Answering, Probe, Silent, probe_sources
from rockiln.resolve.wheel_tags import WheelPlatform
from rockiln.resolve.wheels import WheelDesk, WheelSources, resolve_wheels
from rockiln.store import Store

PARTS = frozenset({"debs", "wheels"})
REFRESHED = frozenset({"debs", "wheels", "own"})
"""What may be asked for alone. Our own wheels are a part of "wheels" too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """A target to resolve, and which parts of it; what is not asked for stays as `old` has it."""

    planned: PlannedTarget
    parts: frozenset[str]
    old: LockedTarget | None
    """Its present entry, if that is current."""
    archives: tuple[Source, ...]
    wheel_sources: tuple[Source, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """What must answer."""
        archives = self.archives if "debs" in self.parts else ()
        return (*archives, *(self.wheel_sources if self.parts & {"wheels", "own"} else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A target that could not be resolved although its sources answer, or not be refreshed. Its entry stays."""

    target_id: str
    error: ResolveError


Outcome = LockedTarget | Unresolved | Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """What resolving works with, the same for all targets."""

    matrix: Matrix
    store: Store
    folders: Folders
    environ: Mapping[str, str]
    console: Console
    known: Mapping[tuple[str, str], Artifact]
    probes: Mapping[str, Probe]


def resolve_targets(  # noqa: PLR0913  # the stage's inputs, each of another kind
    planned: tuple[PlannedTarget, ...],
    matrix: Matrix,
    old_lock: Lock,
    store: Store,
    folders: Folders,
    environ: Mapping[str, str],
    console: Console,
    *,
    refresh: frozenset[str] = frozenset(),
    save: Callable[[Lock], None] | None = None,
) -> Lock:
    """Resolve what is missing, stale or unresolved, and the parts to `refresh` ("debs", "wheels", "own") of the others.

    Where nothing but the sources of our own distributions changed, nothing but their wheels is locked anew.

    Entries of other targets stay. A source that does not answer leaves its targets unresolved, with the reason.
    Anything worse (a wrong signature, a pin that its source has not) is one ResolveError at the end that names each
    target; those before and after it are resolved, and given to `save`, which is called after every target.
    """
    lock = _start(old_lock, matrix)
    chores = tuple(_find_chores(planned, matrix, old_lock, refresh))
    if not chores:
        return lock
    if any("debs" in chore.parts for chore in chores):
        require_apt(environ)
    if "own" in refresh:
        forget_own_wheels(matrix.path.parent, folders.cache_path)
    probes = _probe(chores, matrix, environ)
    _warn_of_silent(probes, console)
    resolver = Resolver(
        matrix=matrix, store=store, folders=folders, environ=environ, console=console, probes=probes,
        known={} if "wheels" in refresh else _known_wheels(old_lock),
    )  # fmt: skip
    return _put_all(lock, _resolve_all(chores, resolver), len(chores), console, save)


def _warn_of_silent(probes: Mapping[str, Probe], console: Console) -> None:
    for probe in probes.values():
        if isinstance(probe, Silent):
            console.warn(f"{probe.describe()}; name a copy: {mirror_setting(probe.source)}")


def _put_all(
    lock: Lock, outcomes: Iterable[Outcome], count: int, console: Console, save: Callable[[Lock], None] | None
) -> Lock:
    """Gather; save after each target, so that a crash costs one; raise what failed at the end."""
    failures = []
    with console.progress("locking", count) as progress:
        for outcome in outcomes:
            progress.advance(1)
            if isinstance(outcome, Failure):
                failures.append(outcome)
                continue
            lock = _put(lock, outcome)
            if save:
                save(lock)
    if failures:
        raise _join(failures)
    return lock


def _start(old_lock: Lock, matrix: Matrix) -> Lock:
    """The old lock without rows that are gone, and with the compressors that are installed here."""
    ids = possible_ids(matrix)
    return Lock(
        targets={target_id: target for target_id, target in old_lock.targets.items() if target_id in ids},
        unresolved={target_id: entry for target_id, entry in old_lock.unresolved.items() if target_id in ids},
        compressors=compressor_versions(),
    )


def _find_chores(
    planned: Iterable[PlannedTarget], matrix: Matrix, old_lock: Lock, refresh: frozenset[str]
) -> Iterator[Chore]:
    for target in planned:
        current = target.id in old_lock.targets and has_current_inputs(old_lock, target, matrix)
        old = old_lock.targets[target.id] if current else None
        stale_own = {"own"} if old and any(find_own_faults(old, target, matrix)) else set()
        sources = tuple(matrix.sources[name] for name in target.target.sources)
        chore = Chore(
            planned=target,
            parts=(refresh & REFRESHED) | stale_own if current else PARTS,
            old=old,
            archives=tuple(source for source in sources if source.kind == "debian-archive"),
            wheel_sources=tuple(source for source in sources if source.kind != "debian-archive"),
        )
        if chore.parts:
            yield chore


def _known_wheels(lock: Lock) -> Mapping[tuple[str, str], Artifact]:
    artifacts = (artifact for target in lock.targets.values() for artifact in target.artifacts)
    return {(artifact.source, artifact.file): artifact for artifact in artifacts if artifact.kind == "wheel"}


def _probe(chores: tuple[Chore, ...], matrix: Matrix, environ: Mapping[str, str]) -> Mapping[str, Probe]:
    sources = {source.name: source for chore in chores for source in chore.sources}
    pins = [(chore, pin.name) for chore in chores for pin in wheel_pins(chore.planned)]
    wanted = {
        source.name: name
        for chore, name in pins
        for source in WheelSources(sources=chore.wheel_sources, urls={}).claimants(name)
    }
    return probe_sources(tuple(sources.values()), wanted, matrix, environ)


def _resolve_all(chores: tuple[Chore, ...], resolver: Resolver) -> Iterator[Outcome]:
    """One apt for all targets on the same archives."""

    def archive_names(chore: Chore) -> tuple[str, ...]:
        return tuple(source.name for source in chore.archives)

    known = dict(resolver.known)  # grows, so that rows that share a wheel download it once
    for _, group in groupby(sorted(chores, key=archive_names), key=archive_names):
        for outcome in _resolve_group(tuple(group), replace(resolver, known=known)):
            if isinstance(outcome, LockedTarget):
                known |= _known_wheels(Lock(targets={outcome.target_id: outcome}, unresolved={}))
            yield outcome


def _resolve_group(group: tuple[Chore, ...], resolver: Resolver) -> Iterator[Outcome]:
    ready = [chore for chore in group if not _silent(chore, resolver)]
    yield from (_leave_unresolved(chore, resolver) for chore in group if chore not in ready)
    done = 0
    try:
        with _open_group(ready, resolver) as apt:
            for chore in ready:
                outcome = _resolve(chore, apt, resolver)
                done += 1
                yield outcome
    except ResolveError as error:
        yield from (Failure(target_id=chore.planned.id, error=error) for chore in ready[done:])


@contextmanager
def _open_group(ready: list[Chore], resolver: Resolver) -> Iterator[AptFolder | None]:
    asking = [chore for chore in ready if "debs" in chore.parts and chore.planned.recipe.packages]
    archives = tuple(_archive(source, resolver) for source in (asking[0].archives if asking else ()))
    opening = open_apt(archives, resolver.folders.cache_path, resolver.environ) if archives else nullcontext()
    with opening as apt:
        yield apt


def _archive(source: Source, resolver: Resolver) -> Archive:
    keyring_path = find_keyring(source, resolver.matrix.path.parent)
    return Archive(source=source, url=_url_of(source, resolver), keyring_path=keyring_path)


def _url_of(source: Source, resolver: Resolver) -> str:
    probe = resolver.probes[source.name]
    return probe.url if isinstance(probe, Answering) else ""


def _silent(chore: Chore, resolver: Resolver) -> tuple[Silent, ...]:
    probes = (resolver.probes[source.name] for source in chore.sources)
    return tuple(probe for probe in probes if isinstance(probe, Silent))


def _leave_unresolved(chore: Chore, resolver: Resolver) -> Unresolved | Failure:
    """The lock is shared, so its reason names no mirror of this machine."""
    silent = _silent(chore, resolver)
    resolver.console.say(f"{chore.planned.id}: unresolved, for want of {', '.join(probe.source for probe in silent)}")
    hint = "name a copy: " + mirror_setting(silent[0].source)
    if chore.old:
        message = f"not refreshed, its entry stays: {'; '.join(probe.describe() for probe in silent)}"
        return Failure(target_id=chore.planned.id, error=ResolveError(message, hint=hint))
    return Unresolved(
        target_id=chore.planned.id,
        inputs_sha256=inputs_sha256(chore.planned, resolver.matrix),
        source=silent[0].source,
        reason="; ".join(probe.describe_shared(resolver.matrix.sources[probe.source].url) for probe in silent),
    )


def _resolve(chore: Chore, apt: AptFolder | None, resolver: Resolver) -> LockedTarget | Failure:
    planned, console = chore.planned, resolver.console
    old = chore.old.artifacts if chore.old else ()
    try:
        debs = tuple(artifact for artifact in old if artifact.kind == "deb")
        if apt and "debs" in chore.parts:
            debs = resolve_debs(apt, planned.recipe.packages)
        wheels = tuple(artifact for artifact in old if artifact.kind == "wheel")
        if chore.parts & {"wheels", "own"}:
            wheels = _resolve_wheels(chore, wheels, _platform(planned, debs), resolver)
    except ResolveError as error:
        return Failure(target_id=planned.id, error=error)
    console.say(f"{planned.id}: {len(debs)} debs, {len(wheels)} wheels")
    return LockedTarget(
        target_id=planned.id,
        inputs_sha256=inputs_sha256(planned, resolver.matrix),
        artifacts=tuple(sorted((*debs, *wheels))),
        requested=requested_owners(planned, [wheel.name for wheel in wheels if wheel.source == OWN]),
    )


def _platform(planned: PlannedTarget, debs: tuple[Artifact, ...]) -> WheelPlatform:
    """The Python and the C library that these debs bring, to the last digit."""
    python, glibc = planned.target.python, upstream_version(debs, "libc6")
    exact = upstream_version(debs, f"python{python.major}.{python.minor}")
    if not exact or not glibc:
        missing = "libc6" if exact else f"python{python}"
        raise ResolveError(f"no {missing} among the {len(debs)} debs, so wheels have nothing to run on")
    return WheelPlatform(python=Version(exact), glibc=Version(glibc))


def _resolve_wheels(
    chore: Chore, old: tuple[Artifact, ...], platform: WheelPlatform, resolver: Resolver
) -> tuple[Artifact, ...]:
    """All wheels; or, where only our own are asked for and need nothing more than before, these, and the old others."""
    urls = {source.name: _url_of(source, resolver) for source in chore.wheel_sources}
    sources = WheelSources(sources=chore.wheel_sources, urls=urls)
    distributions = find_distributions(resolver.matrix.path.parent)
    own = _build_own(own_names(chore.planned, distributions), sources, platform, resolver)
    kept = tuple(wheel for wheel in old if wheel.source != OWN)
    unmet = find_unmet(own.values(), (*kept, *own.values()), resolver.store, str(platform.python))
    if "wheels" not in chore.parts and not unmet:
        return (*kept, *own.values())
    with open_client(resolver.environ, Patience(connect_s=CONNECT_S), connections=4) as client:
        desk = WheelDesk(
            client=client,
            store=resolver.store,
            cache_path=resolver.folders.cache_path,
            environ=resolver.environ,
            console=resolver.console,
            known=resolver.known,
        )
        wheels = resolve_wheels(wheel_pins(chore.planned), own, sources, platform, desk)
    _refuse_impostors(wheels, distributions)
    return wheels


def _build_own(
    names: tuple[str, ...], sources: WheelSources, platform: WheelPlatform, resolver: Resolver
) -> Mapping[Requirement, Artifact]:
    builder = OwnBuilder(
        project_path=resolver.matrix.path.parent,
        cache_path=resolver.folders.cache_path,
        index_url=_backend_index(sources) or find_index(resolver.environ),
        store=resolver.store,
        environ=resolver.environ,
        console=resolver.console,
    )
    return builder.build(names, platform)


def _backend_index(sources: WheelSources) -> str:
    """The row's first open index serves build backends too."""
    indexes = (source for source in sources.sources if source.kind == "wheel-index" and not source.packages)
    return next((sources.urls[source.name] for source in indexes), "")


def _refuse_impostors(wheels: tuple[Artifact, ...], own: Mapping[str, object]) -> None:
    """A distribution of this repository that a plugin needs must be built here, not be found on an index."""
    for wheel in wheels:
        if wheel.name in own and wheel.source != OWN:
            message = f'{wheel.name} is a distribution of this repository, but would come from source "{wheel.source}"'
            raise ResolveError(message, hint=f'add "{wheel.name}" to the row\'s plugins in matrix.toml')


def _put(lock: Lock, outcome: LockedTarget | Unresolved) -> Lock:
    targets = {target_id: entry for target_id, entry in lock.targets.items() if target_id != outcome.target_id}
    unresolved = {target_id: entry for target_id, entry in lock.unresolved.items() if target_id != outcome.target_id}
    if isinstance(outcome, LockedTarget):
        targets = share_own_wheels(targets, outcome) | {outcome.target_id: outcome}
    else:
        unresolved[outcome.target_id] = outcome
    return replace(lock, targets=targets, unresolved=unresolved)


def _join(failures: list[Failure]) -> ResolveError:
    """One error for all; targets that fail alike share a line."""
    by_cause: dict[str, list[str]] = {}
    for failure in failures:
        by_cause.setdefault(failure.error.message, []).append(failure.target_id)
    lines = [f"{', '.join(sorted(ids))}: {cause}" for cause, ids in by_cause.items()]
    return ResolveError("\n".join(lines), hint="; ".join(dict.fromkeys(failure.error.hint for failure in failures)))
