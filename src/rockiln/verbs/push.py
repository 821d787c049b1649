"""rockiln push: built images → a registry, by digest. No tag is touched."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from rockiln.invocation import Invocation
from rockiln.jsonable import write_value
from rockiln.plan import PlannedTarget
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_jobs, add_json, add_targets
from rockiln.verbs.cache_options import add_cache_destination, parse_cache, push_to_cache
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


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Push each target in turn, so that the later ones find the layers of the earlier ones."""
    from rockiln.publish.push import describe_pushed

    if args.cache_to:
        parse_cache(args.cache_to, "--cache-to")  # before the long part
    chosen = invocation.select(tuple(args.targets))
    pushed = [push_target(planned, args, invocation) for planned in chosen]
    return Answer(text="\n".join(map(describe_pushed, pushed)), value=pushed)


def push_target(planned: PlannedTarget, args: argparse.Namespace, invocation: Invocation) -> Pushed:
    """One target's layout; what was done is kept as build/TARGET/push.json."""
    from rockiln.publish.destinations import find_destination, list_siblings
    from rockiln.publish.layout import read_layout
    from rockiln.publish.push import push_layout
    from rockiln.registry_cache.push_cache import describe_pushed_cache
    from rockiln.verbs.registry_options import count_threads, open_registry
    from rockiln.verbs.smoke import read_finished_image

    _require_audited(planned, invocation)
    template = args.to or invocation.matrix.publish.repository
    framework = planned.target.framework
    destination = find_destination(template, framework)
    siblings = list_siblings(template, framework, (row.target.framework for row in invocation.plan.targets))
    layout = read_layout(read_finished_image(planned, invocation).layout_path, planned.id)
    with open_registry(destination, args, invocation, to_push=not args.dry_run) as repository:
        pushed = push_layout(
            layout, repository, siblings, count_threads(invocation), invocation.console, is_dry=args.dry_run
        )
        attached_path = invocation.folders.target_path(planned.id) / ATTACHED
        if attached_path.is_dir() and not args.dry_run:
            from rockiln.attest.push_attached import push_if_attested

            digest = layout.images[0].manifest.digest
            attached = push_if_attested(repository, attached_path, digest, invocation.console)
            pushed = replace(pushed, attached=attached)
    if cached := push_to_cache(planned, layout, destination, args, invocation):
        invocation.console.say(describe_pushed_cache(cached))
    if not args.dry_run:
        write_value(pushed, invocation.folders.target_path(planned.id) / "push.json")
    return pushed


def _require_audited(planned: PlannedTarget, invocation: Invocation) -> None:
    """A build that its audit failed leaves an image to look at, and none to publish. Raises AuditFailedError."""
    from rockiln.audit.of_build import find_audit_fault, read_report

    report = read_report(invocation.folders.target_path(planned.id) / "audit.json")
    if report and (fault := find_audit_fault(report)):
        raise fault
