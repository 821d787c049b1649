"""rockiln build: targets → images under build/, smoked where that was asked for."""

from __future__ import annotations

import argparse

from rockiln.image import Image
from rockiln.invocation import Invocation
from rockiln.plan import PlannedTarget
from rockiln.scratch import remove_abandoned
from rockiln.verbs.answer import Answer, format_bytes
from rockiln.verbs.arguments import add_build_options, add_engine, add_jobs, add_json, add_targets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --compression, --bundle, --relock-gone, --verify, --smoke, --engine, --jobs, --json."""
    add_targets(parser)
    add_build_options(parser)
    parser.add_argument(
        "--verify", action="store_true", help="read all artifacts and layers that are kept, and replace damaged ones"
    )
    parser.add_argument("--smoke", action="store_true", help="run the image's checks when it is built")
    add_engine(parser)
    add_jobs(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Build each target in turn; with --smoke, run its checks before the next one starts.

    First of all, what killed builds left is removed, even if nothing has to be done.
    """
    from rockiln.verbs.smoke import smoke_target

    for path in invocation.folders.scratch_paths:
        remove_abandoned(path)
    images, lines, fault = [], [], None
    for planned in invocation.select(tuple(args.targets)):
        image = have_image(planned, args, invocation)
        images.append(image)
        lines.append(describe_image(image))
        if args.smoke:
            smoked = smoke_target(planned, image, args.engine, (), invocation)
            lines.append(smoked.text)
            fault = fault or smoked.fault
    return Answer(text="\n".join(lines), value=images, fault=fault)


def have_image(planned: PlannedTarget, args: argparse.Namespace, invocation: Invocation) -> Image:
    """What an earlier build left, where it would be made again; else what the pipeline makes."""
    from rockiln.build_key import find_current_image

    current = None if args.verify else find_current_image(planned, invocation, args.compression)
    if current:
        invocation.console.say(f"{planned.id}: up to date")
        return current
    from rockiln.pipeline import BuildOptions, build_image  # loads every stage

    options = BuildOptions(
        compression=args.compression, relock_gone=args.relock_gone, bundle_path=args.bundle, verify=args.verify
    )  # fmt: skip
    return build_image(planned, invocation, options)


def describe_image(image: Image) -> str:
    """Where the image is, its digest and its size."""
    unpacked_bytes = sum(layer.unpacked_bytes for layer in image.layers)
    return (
        f"{image.target_id}\n  {image.digest}\n  {format_bytes(image.size_bytes)} to pull,"
        f" {format_bytes(unpacked_bytes)} unpacked, {len(image.layers)} layers\n  {image.layout_path}"
    )
