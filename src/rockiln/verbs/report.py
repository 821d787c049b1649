"""rockiln report: built targets → one HTML page, to look at in any browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from rockiln.built_values import has_value
from rockiln.disk import write_named
from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.plan import PlannedTarget
from rockiln.verbs.answer import Answer, format_bytes
from rockiln.verbs.arguments import add_targets, require_file_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --all, --output."""
    add_targets(parser, required=False, default="every target of the matrix that is built")
    parser.add_argument("--all", action="store_true", help="the default, in words: every target that is built")
    parser.add_argument(
        "--output", type=Path, metavar="FILE",
        help="where to write the page (default: build/TARGET/report.html, or build/report.html for several)",
    )  # fmt: skip


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Write the page of the named targets."""
    from rockiln.report.page import render_page
    from rockiln.report.page_facts import gather_facts

    planned = choose_targets(args, invocation)
    path = args.output or choose_path(planned, invocation)
    require_file_path(path, "--output")
    folders = {one.id: invocation.folders.target_path(one.id) for one in planned}
    budgets = {one.id: one.recipe.budget for one in planned}
    page = render_page(gather_facts(folders, budgets)).encode()
    write_named(path, page)
    return Answer(text=f"{path}\n  {format_bytes(len(page))}, {len(planned)} of the matrix's targets", value=str(path))


def choose_targets(args: argparse.Namespace, invocation: Invocation) -> tuple[PlannedTarget, ...]:
    """Those that were named, or all that are built; of those that a glob names, the ones that are built.

    Raises UsageError for an id that is not built, and where a glob names none that is.
    """
    if args.all and args.targets:
        raise UsageError("--all is every target that is built", hint="name targets, or say --all")
    chosen = invocation.select(tuple(args.targets))
    built = tuple(one for one in chosen if has_value(invocation.folders.target_path(one.id), "sizes"))
    missing = [one.id for one in chosen if one not in built]
    for target_id in missing:
        if target_id in args.targets:
            raise UsageError(f"{target_id} is not built", hint=f"rockiln build {target_id}")
    if not built:
        what = f"none of the {len(chosen)} targets that are named is" if args.targets else "no target is"
        raise UsageError(f"{what} built yet", hint=f"rockiln build {missing[0] if args.targets else 'TARGET'}")
    if args.targets and missing:
        invocation.console.warn(f"not built, so not in the page: {', '.join(missing)}")
    return built


def choose_path(planned: tuple[PlannedTarget, ...], invocation: Invocation) -> Path:
    """Beside the values that the page shows."""
    folder = invocation.folders.build_path
    return (invocation.folders.target_path(planned[0].id) if len(planned) == 1 else folder) / "report.html"
