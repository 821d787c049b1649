"""rockiln fetch: Lock → artifacts in the store."""

from __future__ import annotations

import argparse

from rockiln.invocation import Invocation
from rockiln.verbs.answer import Answer, format_bytes
from rockiln.verbs.arguments import add_fetch_options, add_jobs, add_json, add_targets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --bundle, --relock-gone, --verify, --jobs, --json."""
    add_targets(parser)
    add_fetch_options(parser)
    parser.add_argument(
        "--verify", action="store_true", help="read what the store holds already, and fetch damaged files again"
    )
    add_jobs(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Fetch every artifact of the targets."""
    from rockiln.lock import require
    from rockiln.pipeline import BuildOptions, fetch_target

    options = BuildOptions(relock_gone=args.relock_gone, bundle_path=args.bundle, verify=args.verify)
    locked = [
        fetch_target(planned, require(invocation.lock, planned, invocation.matrix), invocation, options)
        for planned in invocation.select(tuple(args.targets))
    ]
    lines = [
        f"{target.target_id}: {len(target.artifacts)} artifacts,"
        f" {format_bytes(sum(artifact.size_bytes for artifact in target.artifacts))}"
        for target in locked
    ]
    return Answer(text="\n".join(lines), value=locked)
