"""rockiln smoke: built or published image + engine → SmokeReport; of a published one attached to it where asked."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.built_values import note_smoke, require_ended
from rockiln.disk import write_named
from rockiln.errors import UsageError
from rockiln.image import Image
from rockiln.invocation import Invocation
from rockiln.jsonable import write_value
from rockiln.plan import PlannedTarget
from rockiln.registry.reference import Reference, is_reference
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_engine, add_jobs, add_json, refuse_input, require_file_path
from rockiln.verbs.registry_options import add_registry_options, add_signing

if TYPE_CHECKING:
    from rockiln.registry.client import RegistryClient


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET or REF..., --engine, --tier, --junit, --attest and how, --jobs, --json."""
    parser.add_argument(
        "targets", metavar="TARGET", nargs="+",
        help="target id, a glob over ids such as 'jax-*', or a published image: HOST/NAME@sha256:...",
    )  # fmt: skip
    add_engine(parser)
    parser.add_argument(
        "--tier", action="append", default=[], choices=("cpu", "gpu", "multi-gpu"),
        help="run these tiers only; may be repeated (default: all that the recipe has)",
    )  # fmt: skip
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the report as JUnit XML too")
    parser.add_argument("--attest", action="store_true", help="attach the result to the published image")
    add_signing(parser)
    add_registry_options(parser)
    add_jobs(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Smoke every target; a failed check, or a required tier that could not run, decides the exit code."""
    words = [word for word in args.targets if is_reference(word)]
    globs = tuple(word for word in args.targets if word not in words)
    chosen = invocation.select(globs) if globs else ()
    _require_sense(args, len(chosen) + len(words), globs)
    for planned in chosen:
        _require_tiers(planned, args.tier)
    images = [read_built_image(planned, invocation) for planned in chosen]
    answers = [
        smoke_target(planned, image, args.engine, tuple(args.tier), invocation)
        for planned, image in zip(chosen, images, strict=True)
    ]
    answers += [_smoke_published(word, args, invocation) for word in words]
    if args.junit:
        from rockiln.smoke import to_junit

        report = to_junit(answers[0].value)  # type: ignore[arg-type]  # a SmokeReport
        write_named(args.junit.absolute(), report.encode(), hint="choose another place: --junit FILE")
    faults = [item.fault for item in answers if item.fault]
    return Answer(
        text="\n".join(item.text for item in answers),
        value=[item.value for item in answers],
        fault=faults[0] if faults else None,
    )


def _require_sense(args: argparse.Namespace, images: int, globs: tuple[str, ...]) -> None:
    """Options that do not go together are refused before the long part."""
    if args.junit and images > 1:
        raise UsageError("--junit holds one target's report", hint="name one target")
    if args.junit:
        require_file_path(args.junit, "--junit")
        refuse_input(args.junit, "--junit", (args.key, args.ca))
    if args.attest and globs:
        hint = "rockiln push TARGET prints HOST/NAME@sha256:…; results are attached to that"
        raise UsageError(f"--attest: {globs[0]} is not published", hint=hint)
    if not args.attest and (args.key or args.unsigned):
        raise UsageError("--key and --unsigned say how a result is attached", hint="add --attest")


def _require_tiers(planned: PlannedTarget, tiers: Sequence[str]) -> None:
    if lacking := sorted(set(tiers) - set(planned.recipe.smoke_tiers)):
        has = ", ".join(planned.recipe.smoke_tiers)
        raise UsageError(f"{planned.id} has no checks of tier {', '.join(lacking)}", hint=f"it has: {has}")


def _smoke_published(word: str, args: argparse.Namespace, invocation: Invocation) -> Answer:
    from rockiln.registry.reference import require_digest
    from rockiln.verbs.registry_options import open_registry

    reference = require_digest(word)
    with open_registry(reference, args, invocation, to_push=args.attest) as repository:
        return smoke_reference(reference, repository, args, invocation)


def smoke_reference(
    reference: Reference, repository: RegistryClient, args: argparse.Namespace, invocation: Invocation
) -> Answer:
    """Pull by digest, run the row's checks, and with --attest attach what they found, whatever it is."""
    from rockiln.engines.choice import choose_engine
    from rockiln.publish.attested import attach_result
    from rockiln.publish.results import find_archs, make_predicate
    from rockiln.smoke import describe_report, find_checks, find_fault, run_smoke
    from rockiln.verbs.registry_options import read_seal

    seal = read_seal(args, invocation.environ) if args.attest else None
    image, planned = pull_row(reference, repository, invocation)
    _require_tiers(planned, args.tier)
    engine = choose_engine(args.engine, invocation)
    report = run_smoke(
        image, planned.recipe, engine, tuple(args.tier), invocation.jobs, invocation.console,
        is_kept=engine.name != "docker",  # the embedded engine's trees are shared with builds, and of the cache
    )  # fmt: skip
    text = describe_report(report)
    if args.attest:
        ran = [check for check in find_checks(planned.recipe) if check.tier in {item.tier for item in report.checks}]
        predicate = make_predicate(report, ran, find_archs(), invocation.clock())
        attached = attach_result(repository, image.digest, predicate, seal)
        text += f"\n  attached to {reference.at(image.digest)}: {attached.digest}" + ("" if seal else " (unsigned)")
    return Answer(text=text, value=report, fault=find_fault(report, planned.recipe))


def pull_row(
    reference: Reference, repository: RegistryClient, invocation: Invocation
) -> tuple[Image, PlannedTarget]:  # fmt: skip
    """The published image as a layout in the cache, and the row of the matrix that it is of."""
    from rockiln.publish.pulled import pull_image

    folders = invocation.folders
    known = (folders.layers_path / "blobs" / "sha256",)
    image = pull_image(repository, reference.digest, folders.cache_path / "pulled", known, invocation.console)
    rows = {planned.id: planned for planned in invocation.plan.targets}
    if image.target_id not in rows:
        hint = "smoke and promote work in the project from which the image was built: its checks are there"
        raise UsageError(f"{reference} is {image.target_id!r}, no row of this matrix", hint=hint)
    return image, rows[image.target_id]


def smoke_target(
    planned: PlannedTarget, image: Image, engine_name: str, tiers: tuple[str, ...], invocation: Invocation
) -> Answer:
    """Run one image's checks and keep the report as build/TARGET/smoke.json."""
    from rockiln.engines.choice import choose_engine
    from rockiln.smoke import describe_report, find_fault, run_smoke

    engine = choose_engine(engine_name, invocation)
    report = run_smoke(image, planned.recipe, engine, tiers, invocation.jobs, invocation.console)
    folder = invocation.folders.target_path(planned.id)
    write_value(report, folder / "smoke.json")
    note_smoke(folder)
    return Answer(text=describe_report(report), value=report, fault=find_fault(report, planned.recipe))


def read_built_image(planned: PlannedTarget, invocation: Invocation) -> Image:
    """The image that `rockiln build` left. Raises UsageError where there is none, ImageError where it is damaged."""
    from rockiln.write_image import read_image

    return read_image(find_built_layout(planned, invocation))


def find_built_layout(planned: PlannedTarget, invocation: Invocation) -> Path:
    """Where that image is; nothing of it is read. Raises UsageError."""
    layout_path = invocation.folders.target_path(planned.id) / "image"
    if not layout_path.is_dir():
        raise UsageError(f"{planned.id} is not built", hint=f"rockiln build {planned.id}")
    return layout_path


def read_finished_image(planned: PlannedTarget, invocation: Invocation) -> Image:
    """The same for verbs that hand it out: of a build that ended, its audit included. Raises UsageError."""
    image = read_built_image(planned, invocation)
    require_ended(invocation.folders.target_path(planned.id), image.digest)
    return image
