"""rockiln matrix: a change of matrix.toml → the file rewritten, comments kept, or the change shown as a diff."""

from __future__ import annotations

import argparse
import difflib

from rockiln.compatibility import read_compatibility
from rockiln.errors import PlanError, UsageError
from rockiln.invocation import Invocation
from rockiln.matrix import parse_matrix
from rockiln.plan import make_plan
from rockiln.recipe import read_recipes
from rockiln.verbs.answer import Answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """add LIKE KEY=VALUE..., bump CANDIDATE WHEEL..., --dry-run."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    adding = actions.add_parser("add", help="add a row: a copy of another, with changed keys")
    adding.add_argument("like", metavar="TARGET", help="id of the row to copy")
    adding.add_argument("changes", metavar="KEY=VALUE", nargs="+", help="lists take commas; no VALUE drops the key")
    bumping = actions.add_parser("bump", help="pin other wheels in a candidate; its version and name follow")
    bumping.add_argument("candidate", metavar="CANDIDATE", help="name of a [candidates.*] table")
    bumping.add_argument("wheels", metavar="WHEEL==VERSION", nargs="+", help="pins that replace those of the same name")
    bumping.add_argument(
        "--evidence", choices=("proven", "named", "conjectured"), required=True,
        help="how sure it is that these wheels exist and work",
    )  # fmt: skip
    bumping.add_argument("--evidence-source", required=True, metavar="TEXT", help="where that is written")
    for action in (adding, bumping):
        action.add_argument("--dry-run", action="store_true", help="print the diff and change nothing")


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Make the change, unless it brings faults in; the diff is the result."""
    from rockiln.edit_matrix import add, bump, write_matrix_text

    matrix = invocation.matrix
    old = matrix.path.read_text(encoding="utf-8")
    if args.action == "add":
        new = add(matrix, args.like, _parse_changes(args.changes))
    else:
        new = bump(matrix, args.candidate, args.wheels, args.evidence, args.evidence_source)
    _refuse_rejected(new, invocation)
    if not args.dry_run:
        write_matrix_text(matrix.path, new)
        invocation.console.say("matrix.toml changed; next: rockiln lock")
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "matrix.toml", "matrix.toml", lineterm="")
    return Answer(text="\n".join(lines), value=new)


def _refuse_rejected(text: str, invocation: Invocation) -> None:
    """Raises PlanError where the changed file holds a row that the plan rejects and did not reject before."""
    recipes = read_recipes(invocation.folders.project_path / "images")
    plan = make_plan(parse_matrix(text, invocation.matrix_path), recipes, read_compatibility())
    known = {rejected.target.id for rejected in invocation.plan.rejected}
    for rejected in plan.rejected:
        if rejected.target.id not in known:
            raise PlanError(f"{rejected.target.id} would be rejected: {'; '.join(rejected.reasons)}")


def _parse_changes(pairs: list[str]) -> dict[str, str]:
    changes = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise UsageError(f"{pair!r} is not KEY=VALUE", hint="for example python=3.13 or archs=gfx942,gfx950")
        changes[key] = value
    return changes
