"""rockiln matrix: add or bump → matrix.toml rewritten, its comments kept, after the plan has allowed the change."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import get_args

from rockiln.compatibility import read_compatibility
from rockiln.errors import PlanError, UsageError
from rockiln.invocation import Invocation
from rockiln.matrix import Evidence, parse_matrix
from rockiln.plan import Plan, make_plan
from rockiln.recipe import read_recipes
from rockiln.verbs.answer import Answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """add TARGET --set KEY=VALUE...; bump CANDIDATE WHEEL... --evidence --evidence-source."""
    changes = parser.add_subparsers(dest="change", metavar="CHANGE", required=True)
    add = changes.add_parser("add", help="add a row like another one", description="Add a row like another one.")
    add.add_argument("like", metavar="TARGET", help="id of the row to copy")
    add.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="what differs, e.g. archs=gfx90a,gfx942; an empty value leaves the key out; may be repeated",
    )  # fmt: skip
    bump = changes.add_parser("bump", help="change a candidate's pins", description="Change a candidate's pins.")
    bump.add_argument("candidate", metavar="CANDIDATE", help="a [candidates.NAME] table")
    bump.add_argument("wheels", metavar="WHEEL", nargs="+", help="a new pin, e.g. jax==0.6.3")
    bump.add_argument(
        "--evidence", choices=get_args(Evidence), default="conjectured", help="of the new pins (default: conjectured)"
    )
    bump.add_argument("--evidence-source", metavar="TEXT", default="not written down", help="where that is written")


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Change the file, unless the change brings a fault or a row that the plan rejects."""
    from rockiln.edit_matrix import add, bump, write_matrix_text

    if args.change == "add":
        text = add(invocation.matrix, args.like, _split_changes(args.set))
    else:
        text = bump(invocation.matrix, args.candidate, args.wheels, args.evidence, args.evidence_source)
    new_ids = _plan_change(text, invocation)
    write_matrix_text(invocation.matrix_path, text)
    hints = [f"{target_id}: planned; next: rockiln lock {target_id}" for target_id in new_ids]
    return Answer(text="\n".join(hints) or "no target's id changed; next: rockiln lock", value=list(new_ids))


def _split_changes(settings: Sequence[str]) -> Mapping[str, str]:
    changes = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting}: no =", hint="for example --set archs=gfx90a,gfx942")
        changes[key] = value
    return changes


def _plan_change(text: str, invocation: Invocation) -> Sequence[str]:
    """Ids that the change brings. Raises PlanError where it brings a row that is rejected."""
    recipes = read_recipes(invocation.folders.project_path / "images")
    plan = make_plan(parse_matrix(text, invocation.matrix_path), recipes, read_compatibility())
    known = {rejected.target.id for rejected in invocation.plan.rejected}
    for rejected in plan.rejected:
        if rejected.target.id not in known:
            raise PlanError(f"{rejected.target.id} would be rejected: {'; '.join(rejected.reasons)}")
    return sorted(_ids(plan) - _ids(invocation.plan))


def _ids(plan: Plan) -> set[str]:
    return {planned.id for planned in plan.targets}
