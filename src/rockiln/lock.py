"""Lock + plan → LockedTarget: what a target is made of, byte for byte, or why that cannot be said."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rockiln.artifact import OWN, Artifact
from rockiln.compress import compressor_versions
from rockiln.errors import LockError
from rockiln.lock_file import read_lock, write_lock
from rockiln.locked import Lock, LockedTarget, Unresolved
from rockiln.matrix import Matrix, Source
from rockiln.own_distributions import OwnDistribution, find_distributions, select_own
from rockiln.plan import Plan, PlannedTarget

__all__ = [
    "Lock", "LockChange", "LockFault", "LockedTarget", "Unresolved", "check_lock", "diff_locks", "find_own_faults",
    "has_current_inputs", "inputs_sha256", "is_current", "mirror_setting", "mirror_variable",
    "own_names", "possible_ids", "read_lock", "requested_owners", "require",
    "wheel_pins", "write_lock",
]  # fmt: skip

RESOLVER = 1
"""Part of every inputs hash: raised when the same inputs must be resolved anew, since rockiln resolves differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFault:
    """Why a target cannot be built from the lock, and the command that mends it."""

    target_id: str
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LockChange:
    """One owner of one target that differs between two locks; "" stands for not there."""

    target_id: str
    owner: str
    old_version: str
    new_version: str

    def __str__(self) -> str:
        if not self.old_version:
            return f"{self.target_id}: {self.owner} {self.new_version} is new"
        if not self.new_version:
            return f"{self.target_id}: {self.owner} {self.old_version} is gone"
        if self.old_version == self.new_version:
            return f"{self.target_id}: {self.owner} {self.new_version} has other bytes or another place"
        return f"{self.target_id}: {self.owner} {self.old_version} -> {self.new_version}"


def inputs_sha256(planned: PlannedTarget, matrix: Matrix) -> str:
    """Hash what decides the resolution and nothing else: not mirrors, keyrings, files, env or drop rules."""
    inputs = {
        "resolver": RESOLVER,
        "os": planned.target.os,
        "python": str(planned.target.python),
        "packages": sorted(planned.recipe.packages),
        "wheels": sorted(str(wheel) for wheel in wheel_pins(planned)),
        "own": {},  # stands for itself: own wheels are held against their sources apart, so that others stay locked
        "sources": [_source_inputs(matrix.sources[name]) for name in planned.target.sources],
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def _source_inputs(source: Source) -> Mapping[str, object]:
    return {
        "name": source.name,
        "kind": source.kind,
        "url": source.url,
        "distribution": source.distribution,
        "suites": source.suites,
        "components": source.components,
        "pinned": source.pinned_packages,
        "packages": source.packages,
    }


def wheel_pins(planned: PlannedTarget) -> tuple[Requirement, ...]:
    """Wheels asked for by the row's candidate and by the recipe, each once."""
    pins = (*planned.taken.wheels, *planned.recipe.wheels)
    return tuple({str(pin): pin for pin in pins}.values())


def own_names(planned: PlannedTarget, distributions: Mapping[str, OwnDistribution]) -> tuple[str, ...]:
    """Own distributions of the target: those of recipe and row, and what they depend on."""
    wanted = (*planned.recipe.own_wheels, *planned.target.plugins)
    return select_own(wanted, planned.recipe.own_wheels_if_there, distributions)


def requested_owners(planned: PlannedTarget, own: Iterable[str] = ()) -> tuple[str, ...]:
    """Owners that recipe and row ask for by name; `own`, our distributions, count as asked for."""
    wheels = [wheel.name for wheel in wheel_pins(planned)] + list(own)
    owners = {f"deb:{package.partition(':')[0]}" for package in planned.recipe.packages}
    return tuple(sorted(owners | {f"wheel:{canonicalize_name(name)}" for name in wheels}))


def has_current_inputs(lock: Lock, planned: PlannedTarget, matrix: Matrix) -> bool:
    """Whether all but the own wheels is locked as it is wanted today."""
    return next(_find_input_faults(lock, planned, matrix), None) is None


def is_current(lock: Lock, planned: PlannedTarget, matrix: Matrix) -> bool:
    """Whether the lock says what the target is made of today."""
    return next(_find_faults(lock, planned, matrix), None) is None


def require(lock: Lock, planned: PlannedTarget, matrix: Matrix) -> LockedTarget:
    """The target's entry; LockError with the command to run when it is missing, stale, unresolved or incomplete."""
    for fault in (*_find_faults(lock, planned, matrix), *_compressor_faults(lock)):
        raise LockError(fault.message, hint=fault.hint)
    return lock.targets[planned.id]


def check_lock(lock: Lock, plan: Plan, matrix: Matrix) -> tuple[LockFault, ...]:
    """Everything that is wrong, for CI. A current entry that is unresolved, with its reason, is accepted."""
    faults = list(_compressor_faults(lock))
    for planned in plan.targets:
        unresolved = lock.unresolved.get(planned.id)
        if unresolved is None or unresolved.inputs_sha256 != inputs_sha256(planned, matrix):
            faults += _find_faults(lock, planned, matrix)
    for target_id in sorted((lock.targets.keys() | lock.unresolved.keys()) - possible_ids(matrix)):
        message = f"matrix.lock: {target_id} is no row of {matrix.path.name} any more"
        faults.append(LockFault(target_id=target_id, message=message, hint="run: rockiln lock"))
    return tuple(faults)


def possible_ids(matrix: Matrix) -> frozenset[str]:
    """Ids that the rows can have: a plan names a row after the candidate that it takes."""
    rows = ((row, candidate) for row in matrix.targets for candidate in row.candidates)
    return frozenset(replace(row, version=candidate.version).id for row, candidate in rows)


def find_own_faults(locked: LockedTarget, planned: PlannedTarget, matrix: Matrix) -> Iterator[LockFault]:
    """What is not locked as the sources of our own distributions are now. The rest of the entry may be current."""
    distributions = find_distributions(matrix.path.parent)
    trees = {item.name: item.source_tree for item in locked.artifacts if item.source == OWN}
    names = own_names(planned, distributions)
    says = {name: f"lacks {name}, a distribution of this repository" for name in names if name not in trees}
    says |= {name: f"holds {name}, which it should not any more" for name in trees.keys() - set(names)}
    for name in sorted(trees.keys() & set(names)):
        if name not in distributions or distributions[name].hash_sources() != trees[name]:
            says[name] = f"is stale: the sources of {name} changed after it was locked"
    way = f"run: rockiln lock {planned.id}, or rockiln build --relock-own {planned.id}"
    for _, message in sorted(says.items()):
        yield _fault(planned, message, way)


def _fault(planned: PlannedTarget, message: str, hint: str = "") -> LockFault:
    way = hint or f"run: rockiln lock {planned.id}"
    return LockFault(target_id=planned.id, message=f"matrix.lock: {planned.id} {message}", hint=way)


def _find_faults(lock: Lock, planned: PlannedTarget, matrix: Matrix) -> Iterator[LockFault]:
    yield from _find_input_faults(lock, planned, matrix)
    if planned.id in lock.targets:
        yield from find_own_faults(lock.targets[planned.id], planned, matrix)


def _find_input_faults(lock: Lock, planned: PlannedTarget, matrix: Matrix) -> Iterator[LockFault]:
    locked, unresolved = lock.targets.get(planned.id), lock.unresolved.get(planned.id)
    entry = locked or unresolved
    if entry is None:
        yield _fault(planned, "is not locked")
    elif entry.inputs_sha256 != inputs_sha256(planned, matrix):
        yield _fault(planned, f"is stale: {matrix.path.name} or its recipe changed after it was locked")
    elif unresolved:
        way = f"reach the source, or name a copy of it: {mirror_setting(unresolved.source)}"
        yield _fault(planned, f"is unresolved: {unresolved.reason}", f"{way}; then run: rockiln lock {planned.id}")
    elif locked:
        for artifact in locked.artifacts:
            if not artifact.sha256 or not artifact.size_bytes:
                yield _fault(planned, f"names {artifact.file} without hash or size: only `rockiln lock` writes those")


def _compressor_faults(lock: Lock) -> Iterator[LockFault]:
    installed = compressor_versions() if lock.compressors else {}
    for name, version in lock.compressors.items():
        if version != installed.get(name):
            message = f"matrix.lock: digests hold with {name} {version}; here is {installed.get(name, 'none')}"
            yield LockFault(target_id="", message=message, hint=f"install {name}=={version}, or run: rockiln lock")


def mirror_setting(source: str) -> str:
    """How a person names a mirror of a source: in the file, for one command, or in the environment."""
    return f'[mirrors] {source} = ["URL"] in matrix.toml, --mirror {source}=URL, or {mirror_variable(source)}=URL'


def mirror_variable(source: str) -> str:
    """Environment variable that holds mirrors of a source, separated by spaces."""
    word = "".join(letter if letter.isalnum() else "_" for letter in source)
    return f"ROCKILN_MIRROR_{word.upper()}"


def diff_locks(old: Lock, new: Lock) -> tuple[LockChange, ...]:
    """What differs for the owners of targets that are in `new`, sorted."""
    changes: list[LockChange] = []
    for target_id, target in new.targets.items():
        before = _by_owner(old.targets.get(target_id))
        after = _by_owner(target)
        differing = (owner for owner in before.keys() | after.keys() if before.get(owner) != after.get(owner))
        changes += [_change(target_id, owner, before.get(owner), after.get(owner)) for owner in differing]
    return tuple(sorted(changes))


def _by_owner(target: LockedTarget | None) -> Mapping[str, Artifact]:
    return {artifact.owner: artifact for artifact in target.artifacts} if target else {}


def _change(target_id: str, owner: str, old: Artifact | None, new: Artifact | None) -> LockChange:
    return LockChange(
        target_id=target_id,
        owner=owner,
        old_version=old.version if old else "",
        new_version=new.version if new else "",
    )
