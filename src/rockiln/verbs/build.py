"""rockiln build: targets → images under build/, smoked where that was asked for."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.errors import RockilnError, UsageError
from rockiln.image import Image
from rockiln.invocation import Invocation
from rockiln.plan import PlannedTarget
from rockiln.scratch import remove_abandoned
from rockiln.verbs.answer import Answer, format_bytes
from rockiln.verbs.arguments import add_build_options, add_engine, add_jobs, add_json, add_targets
from rockiln.verbs.cache_options import RemoteCache, add_cache_source, open_cache
from rockiln.verbs.diff import measure_image
from rockiln.verbs.registry_options import add_registry_options, read_access

if TYPE_CHECKING:
    from rockiln.sizes.inventory import Sizes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., and how to build, judge and smoke it."""
    add_targets(parser)
    add_build_options(parser)
    parser.add_argument(
        "--relock-own", action="store_true",
        help="when this repository's plugins changed after they were locked, lock their wheels anew and go on",
    )  # fmt: skip
    parser.add_argument(
        "--verify", action="store_true", help="read all artifacts and layers that are kept, and replace damaged ones"
    )
    parser.add_argument(
        "--record-sizes", action="store_true",
        help="write what an image within its budget weighs to images/NAME/sizes/TARGET.json, to be committed",
    )  # fmt: skip
    parser.add_argument(
        "--since", metavar="IMAGE",
        help="past the budget, list growths since IMAGE (as rockiln diff takes it), not since what was recorded",
    )  # fmt: skip
    parser.add_argument("--smoke", action="store_true", help="run the image's checks when it is built")
    parser.add_argument(
        "--sandbox", choices=("namespaces", "chroot"), default="namespaces",
        help="where the image's own programs run: chroot is for root in a container that forbids namespaces",
    )  # fmt: skip
    add_engine(parser)
    add_cache_source(parser)
    add_registry_options(parser)
    add_jobs(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Build each target in turn; with --smoke, run its checks before the next one starts.

    An image past its budget, or with errors in its audit, is finished and kept, so that it can be looked at; the exit
    code says what is wrong with it.

    First of all, what killed builds left is removed, even if nothing has to be done.
    """
    for path in invocation.folders.scratch_paths:
        remove_abandoned(path)
    chosen = invocation.select(tuple(args.targets))
    if args.relock_own:
        from rockiln.relock import relock_own

        relock_own(chosen, invocation)
    with open_cache(args, invocation) as cache:
        built = _build_all(chosen, args, invocation, cache)
        if cache and (said := cache.layers.describe()):
            invocation.console.say(said)
    return built


def _build_all(
    chosen: tuple[PlannedTarget, ...], args: argparse.Namespace, invocation: Invocation, cache: RemoteCache | None
) -> Answer:
    from rockiln.verbs.smoke import smoke_target

    images, lines = [], []
    fault: RockilnError | None = None
    for planned in chosen:
        earlier = find_earlier(planned, args, invocation)
        image = have_image(planned, args, invocation, cache)
        images.append(image)
        lines.append(describe_image(image))
        if over := judge_sizes(planned, earlier, args, invocation):
            lines += [over.message] if fault else []  # the first is printed as the error
            fault = fault or over
        if wrong := judge_audit(planned, invocation):
            lines += [wrong.message] if fault else []
            fault = fault or wrong
        if args.smoke:
            smoked = smoke_target(planned, image, args.engine, (), invocation)
            lines.append(smoked.text)
            fault = fault or smoked.fault
    return Answer(text="\n".join(lines), value=images, fault=fault)


def have_image(
    planned: PlannedTarget, args: argparse.Namespace, invocation: Invocation, cache: RemoteCache | None = None
) -> Image:
    """What an earlier build left here or in the cache's repository, where it would be made again; else what the
    pipeline makes."""
    from rockiln.build_key import find_current_image

    current = None if args.verify else find_current_image(planned, invocation, args.compression)
    if current:
        invocation.console.say(f"{planned.id}: up to date")
        return current
    if cache and not args.verify and (taken := cache.take_row(planned, args, invocation)):
        return taken
    from rockiln.pipeline import BuildOptions, build_image  # loads every stage

    options = BuildOptions(
        compression=args.compression, relock_gone=args.relock_gone, bundle_path=args.bundle, verify=args.verify,
        is_chrooted=args.sandbox == "chroot", layer_source=cache.layers if cache else None,
    )  # fmt: skip
    return build_image(planned, invocation, options)


def find_earlier(planned: PlannedTarget, args: argparse.Namespace, invocation: Invocation) -> Sizes | None:
    """What to compare with past the budget: the image that was named, else the record that somebody committed, else
    what was built last."""
    from rockiln.sizes.stored import read_record, read_sizes

    if args.since:
        return measure_image(args.since, invocation, read_access(args, invocation)).sizes
    if record := read_record(record_path(planned)):
        return record
    last = read_sizes(invocation.folders.target_path(planned.id) / "sizes.json")
    return replace(last, name="the last build") if last else None


def judge_sizes(
    planned: PlannedTarget, earlier: Sizes | None, args: argparse.Namespace, invocation: Invocation
) -> RockilnError | None:
    """The fault of an image past its budget; one within it is recorded where that was asked for."""
    from rockiln.sizes.check_budget import check_budget
    from rockiln.sizes.stored import read_sizes, write_record

    sizes = read_sizes(invocation.folders.target_path(planned.id) / "sizes.json")
    if sizes is None:
        return UsageError(f"{planned.id}: sizes.json is damaged", hint=f"rockiln build --verify {planned.id}")
    fault = check_budget(sizes, planned.recipe.budget, planned.recipe.name, earlier)
    if args.record_sizes and not fault:
        write_record(sizes, record_path(planned))
        invocation.console.say(f"{planned.id}: sizes recorded in {record_path(planned)}")
    return fault


def judge_audit(planned: PlannedTarget, invocation: Invocation) -> RockilnError | None:
    """The fault of an image in which the audit found errors."""
    from rockiln.audit.of_build import find_audit_fault, read_report

    report = read_report(invocation.folders.target_path(planned.id) / "audit.json")
    if report is None:
        return UsageError(f"{planned.id}: audit.json is damaged", hint=f"rockiln build --verify {planned.id}")
    return find_audit_fault(report)


def record_path(planned: PlannedTarget) -> Path:
    """Where a target's accepted sizes are committed."""
    return planned.recipe.path.parent / "sizes" / f"{planned.id}.json"


def describe_image(image: Image) -> str:
    """Where the image is, its digest and its size."""
    unpacked_bytes = sum(layer.unpacked_bytes for layer in image.layers)
    return (
        f"{image.target_id}\n  {image.digest}\n  {format_bytes(image.size_bytes)} to pull,"
        f" {format_bytes(unpacked_bytes)} unpacked, {len(image.layers)} layers\n  {image.layout_path}"
    )
