"""Targets and what each is made of → shards: what shares most is built by one machine, and no machine does it all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rockiln.lock import Lock
from rockiln.plan import PlannedTarget

UNLOCKED_BYTES = 1 << 20
"""What a source weighs of a target that is not locked: enough to put those of one platform together."""

Parts = Mapping[str, int]
"""Hash of an artifact → bytes."""


def list_parts(planned: PlannedTarget, lock: Lock) -> Parts:
    """What a target is made of: its artifacts, or its sources and its version where it is not locked."""
    locked = lock.targets.get(planned.id)
    if locked:
        return {artifact.sha256: artifact.size_bytes for artifact in locked.artifacts}
    target = planned.target
    names = (*target.sources, f"{target.framework} {target.version}", f"py{target.python}", *target.archs)
    return dict.fromkeys(names, UNLOCKED_BYTES)


def make_shards(parts: Mapping[str, Parts], count: int) -> tuple[tuple[str, ...], ...]:
    """At most `count` groups of ids.

    One group a target at first; then those two join that together weigh least, where what both hold counts once, until
    there are no more than `count`. That keeps groups even and puts together what shares most. Ties go to the first.
    """
    order = {target_id: number for number, target_id in enumerate(parts)}
    groups: list[tuple[str, ...]] = [(target_id,) for target_id in parts]
    while len(groups) > max(count, 1):
        one, other = min(_pairs(groups), key=lambda pair: (weigh(parts, (*pair[0], *pair[1])), order[pair[0][0]]))
        joined = tuple(sorted((*one, *other), key=order.__getitem__))
        groups = [group for group in groups if group not in {one, other}] + [joined]
        groups.sort(key=lambda group: order[group[0]])
    return tuple(groups)


def _pairs(groups: Sequence[tuple[str, ...]]) -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    return ((one, other) for number, one in enumerate(groups) for other in groups[number + 1 :])


def weigh(parts: Mapping[str, Parts], group: Sequence[str]) -> int:
    """Bytes of all that the group's targets are made of, each part once."""
    together: dict[str, int] = {}
    for target_id in group:
        together |= parts[target_id]
    return sum(together.values())
