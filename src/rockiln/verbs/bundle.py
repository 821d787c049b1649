"""rockiln bundle: Lock + store → one file from which the targets build with no network."""

from __future__ import annotations

import argparse
from pathlib import Path

from rockiln.invocation import Invocation
from rockiln.verbs.answer import Answer, format_bytes
from rockiln.verbs.arguments import (
    add_fetch_options,
    add_jobs,
    add_json,
    add_targets,
    refuse_folder,
    refuse_input,
    refuse_stream,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --output, and what fetch takes."""
    add_targets(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the bundle to write")
    add_fetch_options(parser)
    add_jobs(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Fetch what is missing, then write the bundle."""
    from rockiln.bundle import write_bundle
    from rockiln.lock import require
    from rockiln.pipeline import BuildOptions, fetch_target
    from rockiln.store import Store

    refuse_folder(args.output, "--output")
    refuse_stream(args.output, "--output")
    refuse_input(args.output, "--output", (args.bundle,))
    options = BuildOptions(relock_gone=args.relock_gone, bundle_path=args.bundle)
    targets = tuple(
        fetch_target(planned, require(invocation.lock, planned, invocation.matrix), invocation, options)
        for planned in invocation.select(tuple(args.targets))
    )
    write_bundle(targets, Store(invocation.folders.store_path), args.output.resolve())  # a link stays a link
    size_bytes = args.output.stat().st_size
    value = {"path": args.output, "size_bytes": size_bytes, "targets": [target.target_id for target in targets]}
    return Answer(text=f"{args.output}: {len(targets)} targets, {format_bytes(size_bytes)}", value=value)
