"""What `rockiln lock` found → Lock: the artifacts of every target, or why there are none. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rockiln.artifact import Artifact


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedTarget:
    """What one target is made of; `inputs_sha256` tells when matrix or recipe have changed since."""

    target_id: str
    inputs_sha256: str
    artifacts: tuple[Artifact, ...]
    requested: tuple[str, ...]
    """Owners ("deb:bash") that the recipe asked for by name; the others came as dependencies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unresolved:
    """A target that could not be resolved where the lock was made, and why."""

    target_id: str
    inputs_sha256: str
    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The whole file."""

    targets: Mapping[str, LockedTarget]
    unresolved: Mapping[str, Unresolved]
    compressors: Mapping[str, str] = field(default_factory=dict)
    """Library → version with which the digests hold."""


def share_own_wheels(targets: Mapping[str, LockedTarget], newest: LockedTarget) -> dict[str, LockedTarget]:
    """The targets, with `newest`'s entry for each own wheel of the same bytes, which older sources gave, too."""
    fresh = {(one.file, one.sha256): one for one in newest.artifacts if one.source_tree}
    return {
        target_id: replace(target, artifacts=tuple(fresh.get((one.file, one.sha256), one) for one in target.artifacts))
        for target_id, target in targets.items()
    }
