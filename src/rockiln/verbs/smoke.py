"""rockiln smoke: built image + engine → SmokeReport."""

from __future__ import annotations

import argparse
from pathlib import Path

from rockiln.built_values import note_smoke
from rockiln.errors import UsageError
from rockiln.image import Image
from rockiln.invocation import Invocation
from rockiln.jsonable import write_value
from rockiln.plan import PlannedTarget
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_engine, add_jobs, add_json, add_targets, require_file_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --engine, --tier, --junit, --jobs, --json."""
    add_targets(parser)
    add_engine(parser)
    parser.add_argument(
        "--tier", action="append", default=[], choices=("cpu", "gpu", "multi-gpu"),
        help="run these tiers only; may be repeated (default: all that the recipe has)",
    )  # fmt: skip
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the report as JUnit XML too")
    add_jobs(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Smoke every target; a failed check, or a required tier that could not run, decides the exit code."""
    chosen = invocation.select(tuple(args.targets))
    if args.junit and len(chosen) > 1:
        raise UsageError("--junit holds one target's report", hint="name one target")
    if args.junit:
        require_file_path(args.junit, "--junit")
    for planned in chosen:
        if lacking := sorted(set(args.tier) - set(planned.recipe.smoke_tiers)):
            has = ", ".join(planned.recipe.smoke_tiers)
            raise UsageError(f"{planned.id} has no checks of tier {', '.join(lacking)}", hint=f"it has: {has}")
    images = [read_built_image(planned, invocation) for planned in chosen]
    answers = [
        smoke_target(planned, image, args.engine, tuple(args.tier), invocation)
        for planned, image in zip(chosen, images, strict=True)
    ]
    if args.junit:
        from rockiln.smoke import to_junit

        args.junit.write_text(to_junit(answers[0].value), encoding="utf-8")  # type: ignore[arg-type]  # a SmokeReport
    faults = [item.fault for item in answers if item.fault]
    return Answer(
        text="\n".join(item.text for item in answers),
        value=[item.value for item in answers],
        fault=faults[0] if faults else None,
    )


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
    """The image that `rockiln build` left. Raises UsageError where there is none."""
    from rockiln.write_image import read_image

    layout_path = invocation.folders.target_path(planned.id) / "image"
    if not layout_path.is_dir():
        raise UsageError(f"{planned.id} is not built", hint=f"rockiln build {planned.id}")
    return read_image(layout_path)
