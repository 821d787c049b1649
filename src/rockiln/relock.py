"""A target whose debs left their archive → a new lock for it, with every change said."""

from __future__ import annotations

from rockiln.invocation import Invocation
from rockiln.lock import LockedTarget, diff_locks, read_lock, require, write_lock
from rockiln.plan import PlannedTarget
from rockiln.resolve.targets import resolve_targets
from rockiln.store import Store


def relock_debs(planned: PlannedTarget, invocation: Invocation) -> LockedTarget:
    """Resolve the target's debs anew, keep its wheels, write matrix.lock and say what changed.

    Raises LockError when the target cannot be resolved now.
    """
    old = read_lock(invocation.lock_path)
    new = resolve_targets(
        (planned,),
        invocation.matrix,
        old,
        Store(invocation.folders.store_path),
        invocation.folders,
        invocation.environ,
        invocation.console,
        refresh=frozenset({"debs"}),
    )
    locked = require(new, planned, invocation.matrix)
    write_lock(new, invocation.lock_path)
    for change in diff_locks(old, new):
        invocation.console.say(f"re-locked: {change}")
    return locked
