"""rockiln plan: Matrix → what will be built, what is rejected, and why."""

from __future__ import annotations

import argparse

from rockiln.compatibility import read_compatibility
from rockiln.invocation import Invocation
from rockiln.plan import Plan, PlannedTarget, RejectedTarget, explore
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_json, add_targets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --explore, --json."""
    add_targets(parser, required=False)
    parser.add_argument(
        "--explore", action="store_true", help="every combination that the compatibility table knows, not only rows"
    )
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """The plan, or the part of it that the globs name."""
    if args.explore:
        explored = explore(invocation.matrix, read_compatibility())
        return Answer(text=describe_plan(explored), value=explored)
    if args.targets:
        chosen = Plan(targets=invocation.select(tuple(args.targets)), rejected=())
        return Answer(text=describe_plan(chosen), value=chosen)
    return Answer(text=describe_plan(invocation.plan), value=invocation.plan)


def describe_plan(plan: Plan) -> str:
    """The plan in lines for people."""
    lines = [line for target in plan.targets for line in _describe_target(target)]
    lines += [line for row in plan.rejected for line in _describe_rejected(row)]
    lines.append(f"{len(plan.targets)} targets, {len(plan.rejected)} rejected")
    return "\n".join(lines)


def _describe_target(planned: PlannedTarget) -> list[str]:
    taken = planned.taken
    lines = [planned.id, f"  {taken.evidence}: {', '.join(map(str, taken.wheels))}"]
    lines += [f"  passed over {other.candidate.version}: {other.reason}" for other in planned.passed_over]
    lines += [f"  note: {caveat}" for caveat in planned.caveats]
    return lines


def _describe_rejected(rejected: RejectedTarget) -> list[str]:
    return [f"{rejected.target.id}: rejected", *(f"  {reason}" for reason in rejected.reasons)]
