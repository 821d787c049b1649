"""rockiln push: built images → a registry, by digest. No tag is touched."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.console import printable
from rockiln.errors import DiskError, RockilnError
from rockiln.invocation import Invocation
from rockiln.jsonable import write_value
from rockiln.plan import PlannedTarget
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_jobs, add_json, add_targets
from rockiln.verbs.cache_options import CacheDestination, add_cache_destination, push_to_cache, read_cache_destination
from rockiln.verbs.image_words import ATTACHED
from rockiln.verbs.registry_options import add_destination, add_registry_options

if TYPE_CHECKING:
    from rockiln.publish.push import Pushed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --to, --dry-run, --cache-to, --cache-key, --plain-http, --ca, --jobs, --json."""
    add_targets(parser)
    add_destination(parser)
    add_cache_destination(parser)
    add_registry_options(parser)
    add_jobs(parser)
    add_json(parser)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What is in the registry now, and what went wrong after it was: its references are said in any case."""

    pushed: tuple[Pushed, ...]
    fault: RockilnError | None


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Push each target in turn, so that the later ones find the layers of the earlier ones."""
    from rockiln.publish.push import describe_pushed

    sent = push_targets(invocation.select(tuple(args.targets)), args, invocation)
    return Answer(text="\n".join(map(describe_pushed, sent.pushed)), value=sent.pushed, fault=sent.fault)


def push_targets(chosen: Iterable[PlannedTarget], args: argparse.Namespace, invocation: Invocation) -> Sent:
    """The first fault ends it. Raises it where no image has arrived."""
    cache = read_cache_destination(args, invocation)  # before the long part
    pushed: list[Pushed] = []
    for planned in chosen:
        try:
            _push_target(planned, args, invocation, cache, pushed)
        except RockilnError as fault:
            if not pushed:
                raise
            return Sent(pushed=tuple(pushed), fault=fault)
    return Sent(pushed=tuple(pushed), fault=None)


def _push_target(
    planned: PlannedTarget, args: argparse.Namespace, invocation: Invocation, cache: CacheDestination | None,
    pushed: list[Pushed],
) -> None:  # fmt: skip
    """One target's layout, added to `pushed` once it is there; what was done is kept as build/TARGET/push.json."""
    from rockiln.attest.push_attached import push_attachments, read_of_image
    from rockiln.publish.destinations import find_destination, list_siblings
    from rockiln.publish.layout import read_layout
    from rockiln.publish.push import push_layout
    from rockiln.verbs.registry_options import count_threads, open_registry
    from rockiln.verbs.smoke import read_finished_image

    _require_audited(planned, invocation)
    template = args.to or invocation.matrix.publish.repository
    framework = planned.target.framework
    destination = find_destination(template, framework)
    siblings = list_siblings(template, framework, (row.target.framework for row in invocation.plan.targets))
    layout = read_layout(read_finished_image(planned, invocation).layout_path, planned.id)
    folder = invocation.folders.target_path(planned.id)
    digest = layout.images[0].manifest.digest
    attachments = () if args.dry_run else read_of_image(folder / ATTACHED, digest, invocation.console)
    with open_registry(destination, args, invocation, to_push=not args.dry_run) as repository:
        done = push_layout(
            layout, repository, siblings, count_threads(invocation), invocation.console, is_dry=args.dry_run
        )
        pushed.append(done)
        pushed[-1] = replace(done, attached=push_attachments(repository, attachments))
    if cache:
        push_to_cache(planned, layout, destination, cache, args, invocation)
    if not args.dry_run:
        _record(pushed[-1], folder / "push.json")


def _record(pushed: Pushed, path: Path) -> None:
    try:
        write_value(pushed, path)
    except OSError as fault:
        message = f"{printable(str(path))}: cannot write: {fault.strerror}"
        raise DiskError(message, hint="the image is pushed; `rockiln export` cannot read its digest here") from fault


def _require_audited(planned: PlannedTarget, invocation: Invocation) -> None:
    """A build that its audit failed leaves an image to look at, and none to publish. Raises AuditFailedError."""
    from rockiln.audit.of_build import find_audit_fault, read_report

    report = read_report(invocation.folders.target_path(planned.id) / "audit.json")
    if report and (fault := find_audit_fault(report)):
        raise fault
