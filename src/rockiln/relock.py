"""A target whose debs left their archive, or whose own wheels are stale → a new lock, with every change said."""

from __future__ import annotations

from collections.abc import Iterable

from rockiln.errors import IntegrityError
from rockiln.invocation import Invocation
from rockiln.lock import (
    Lock,
    LockedTarget,
    diff_locks,
    find_own_faults,
    has_current_inputs,
    read_lock,
    require,
    write_lock,
)
from rockiln.plan import PlannedTarget
from rockiln.resolve.own_wheels import bring_own_wheels
from rockiln.resolve.targets import resolve_targets
from rockiln.store import Store


def relock_debs(planned: PlannedTarget, invocation: Invocation) -> LockedTarget:
    """Resolve the target's debs anew, keep its wheels, write matrix.lock and say what changed.

    Raises LockError when the target cannot be resolved now.
    """
    old = read_lock(invocation.lock_path)
    new = _resolve_anew((planned,), old, invocation, frozenset({"debs"}))
    locked = require(new, planned, invocation.matrix)
    _write(old, new, invocation)
    return locked


def relock_own(chosen: Iterable[PlannedTarget], invocation: Invocation) -> None:
    """Lock this repository's wheels anew where sources changed, or the compiler here writes other bytes.

    Whatever else an entry is locked to stays; an entry that is stale for another reason is left to `require`.
    Call it before `invocation.lock` is read. Raises ResolveError where a wheel does not build.
    """
    old = read_lock(invocation.lock_path)
    current = [one for one in chosen if one.id in old.targets and has_current_inputs(old, one, invocation.matrix)]
    stale = [one for one in current if any(find_own_faults(old.targets[one.id], one, invocation.matrix))]
    fresh = [one for one in current if one not in stale]
    other_bytes = [one for one in fresh if not _builds_as_locked(old.targets[one.id], invocation)]
    new = _resolve_anew(tuple(stale), old, invocation, frozenset()) if stale else old
    new = _resolve_anew(tuple(other_bytes), new, invocation, frozenset({"own"})) if other_bytes else new
    if new is not old:
        _write(old, new, invocation)


def _builds_as_locked(locked: LockedTarget, invocation: Invocation) -> bool:
    folders = invocation.folders
    store = Store(folders.store_path)
    try:
        bring_own_wheels(
            locked.artifacts, invocation.matrix, store, folders.cache_path, invocation.environ, invocation.console
        )
    except IntegrityError as error:
        invocation.console.warn(error.message)
        return False
    return True


def _resolve_anew(
    chosen: tuple[PlannedTarget, ...], old: Lock, invocation: Invocation, refresh: frozenset[str]
) -> Lock:
    return resolve_targets(
        chosen,
        invocation.matrix,
        old,
        Store(invocation.folders.store_path),
        invocation.folders,
        invocation.environ,
        invocation.console,
        refresh=refresh,
    )


def _write(old: Lock, new: Lock, invocation: Invocation) -> None:
    write_lock(new, invocation.lock_path)
    for change in diff_locks(old, new):
        invocation.console.say(f"re-locked: {change}")
