"""rockiln plan: Matrix → what will be built, what is rejected, and why."""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import groupby

from rockiln.compatibility import read_compatibility
from rockiln.exploration import Exploration, explore
from rockiln.invocation import Invocation
from rockiln.plan import Plan, PlannedTarget, RejectedTarget
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
        return Answer(text=describe_exploration(explored), value=explored)
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


def describe_exploration(explored: Exploration) -> str:
    """What could be a row, and how often each reason stands against the rest; --json has every cell."""
    allowed = [cell for cell in explored.cells if not cell.reasons]
    lines = []
    for platform, group in groupby(allowed, key=lambda cell: cell.platform):
        cells = tuple(group)
        rows = sorted({row for cell in cells for row in cell.rows})
        lines.append(f"{platform} {' '.join(cell.arch for cell in cells)}".rstrip())
        lines += [f"  row: {row}" for row in rows]
    counts = Counter(reason for cell in explored.cells for reason in cell.reasons)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines += [f"{count} times: {reason}" for reason, count in ranked]
    lines.append(f"{len(explored.cells)} combinations, {len(allowed)} allowed")
    return "\n".join(lines)
