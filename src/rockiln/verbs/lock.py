"""rockiln lock: Plan + sources → matrix.lock, or (--check) what is wrong with the one there is."""

from __future__ import annotations

import argparse

from rockiln.errors import LockError, ResolveError
from rockiln.invocation import Invocation
from rockiln.lock import Lock, Unresolved, check_lock, diff_locks, mirror_setting
from rockiln.plan import Plan
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_json, add_targets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --check, --refresh, --json."""
    add_targets(parser, required=False)
    parser.add_argument(
        "--check", action="store_true",
        help="change nothing; fail if the lock is stale (targets marked unresolved, with a reason, are accepted)",
    )  # fmt: skip
    parser.add_argument(
        "--refresh", choices=("debs", "wheels", "own"), action="append", default=[],
        help="resolve only these anew and keep the others, as for a weekly security rebuild; own: build"
        " this repository's wheels anew; may be repeated",
    )  # fmt: skip
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Resolve the targets and write the lock, or check it."""
    if args.check:
        return _check(args, invocation)
    from rockiln.lock import write_lock
    from rockiln.resolve.targets import resolve_targets
    from rockiln.store import Store

    chosen = invocation.select(tuple(args.targets))
    old = invocation.lock
    new = resolve_targets(
        chosen, invocation.matrix, old, Store(invocation.folders.store_path), invocation.folders,
        invocation.environ, invocation.console, refresh=frozenset(args.refresh),
        save=lambda lock: write_lock(lock, invocation.lock_path),
    )  # fmt: skip
    write_lock(new, invocation.lock_path)
    changes = diff_locks(old, new)
    unresolved = [new.unresolved[planned.id] for planned in chosen if planned.id in new.unresolved]
    lines = [str(change) for change in changes]
    lines += [f"{item.target_id}: unresolved: {item.reason}" for item in unresolved]
    lines.append(_count(new))
    fault = _find_fault(unresolved) if args.targets else None
    return Answer(text="\n".join(lines), value={"changes": changes, "unresolved": unresolved}, fault=fault)


def _find_fault(unresolved: list[Unresolved]) -> ResolveError | None:
    """Who names a target wants it resolved; a lock of everything is kept with what could not be."""
    if not unresolved:
        return None
    names = ", ".join(item.target_id for item in unresolved)
    settings = dict.fromkeys(mirror_setting(item.source) for item in unresolved)
    message = f'not resolved, for want of source "{unresolved[0].source}": {names}'
    return ResolveError(message, hint=f"reach the source, or name a copy of it: {'; '.join(settings)}")


def _check(args: argparse.Namespace, invocation: Invocation) -> Answer:
    plan = Plan(targets=invocation.select(tuple(args.targets)), rejected=())
    faults = check_lock(invocation.lock, plan, invocation.matrix)
    fault = None
    if faults:
        fault = LockError(f"matrix.lock has {len(faults)} faults", hint="run rockiln lock, and look at the diff")
    lines = [*(str(item) for item in faults), _count(invocation.lock)]
    return Answer(text="\n".join(lines), value=faults, fault=fault)


def _count(lock: Lock) -> str:
    return f"{len(lock.targets)} targets locked, {len(lock.unresolved)} unresolved"
