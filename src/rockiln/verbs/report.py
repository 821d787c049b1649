"""rockiln report: built targets → one HTML page, to look at in any browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from rockiln.disk import write_whole
from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.plan import PlannedTarget
from rockiln.verbs.answer import Answer, format_bytes
from rockiln.verbs.arguments import add_targets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --all, --output."""
    add_targets(parser, required=False)
    parser.add_argument("--all", action="store_true", help="every target of the matrix that is built")
    parser.add_argument(
        "--output", type=Path, metavar="FILE",
        help="where to write the page (default: build/TARGET/report.html, or build/report.html for several)",
    )  # fmt: skip


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Write the page of the named targets."""
    from rockiln.report.page import render_page
    from rockiln.report.page_facts import gather_facts

    planned = choose_targets(args, invocation)
    folders = {one.id: invocation.folders.target_path(one.id) for one in planned}
    budgets = {one.id: one.recipe.budget for one in planned}
    page = render_page(gather_facts(folders, budgets)).encode()
    path = args.output or choose_path(planned, invocation)
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no folder", hint="--output names a file in a folder that is there")
    write_whole(path, page)
    return Answer(text=f"{path}\n  {format_bytes(len(page))}, {len(planned)} of the matrix's targets", value=str(path))


def choose_targets(args: argparse.Namespace, invocation: Invocation) -> tuple[PlannedTarget, ...]:
    """Those that were named, or all that are built."""
    if args.all == bool(args.targets):
        raise UsageError("name targets, or say --all", hint="rockiln report 'jax-*', or rockiln report --all")
    chosen = invocation.select(tuple(args.targets))
    if not args.all:
        return chosen
    built = tuple(one for one in chosen if (invocation.folders.target_path(one.id) / "sizes.json").exists())
    if not built:
        raise UsageError("no target is built yet", hint="rockiln build TARGET")
    return built


def choose_path(planned: tuple[PlannedTarget, ...], invocation: Invocation) -> Path:
    """Beside the values that the page shows."""
    folder = invocation.folders.build_path
    return (invocation.folders.target_path(planned[0].id) if len(planned) == 1 else folder) / "report.html"
