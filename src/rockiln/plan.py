"""Matrix + recipes + compatibility table → Plan. Pure: no network, no clock, under 0.3 s."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rockiln.compatibility import Compatibility
from rockiln.errors import PlanError
from rockiln.judge import judge_candidate, judge_row
from rockiln.matrix import Candidate, Matrix, Source, Target
from rockiln.recipe import Recipe, select_recipe
from rockiln.recipe_file import RecipeFile
from rockiln.tables import quote, suggest


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedCandidate:
    """A way to fill a cell that was passed over."""

    candidate: Candidate
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTarget:
    """A row that will be built, and from what."""

    target: Target
    recipe: Recipe
    taken: Candidate
    """The candidate that fills the row, with the recipe's own wheels after the framework's."""
    passed_over: tuple[RejectedCandidate, ...]
    caveats: tuple[str, ...]
    """What a person should know: conjectured evidence, an unchecked Valid-Until, absent libraries."""

    @property
    def id(self) -> str:
        return self.target.id


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedTarget:
    """A row that cannot be built, with every reason."""

    target: Target
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    targets: tuple[PlannedTarget, ...]
    rejected: tuple[RejectedTarget, ...]


def make_plan(matrix: Matrix, recipes: Mapping[str, RecipeFile], compatibility: Compatibility) -> Plan:
    """Each row of the matrix, planned or rejected with every reason."""
    rows = [_plan_row(row, matrix.sources, recipes, compatibility) for row in matrix.targets]
    rows = _reject_double_ids(rows)
    return Plan(
        targets=tuple(row for row in rows if isinstance(row, PlannedTarget)),
        rejected=tuple(row for row in rows if isinstance(row, RejectedTarget)),
    )


def select_targets(plan: Plan, globs: Sequence[str]) -> tuple[PlannedTarget, ...]:
    """The planned targets whose id matches any of `globs`, in the plan's order; all of them for no globs."""
    for pattern in globs:
        if not any(fnmatch.fnmatchcase(planned.id, pattern) for planned in plan.targets):
            raise _no_such_target(plan, pattern)
    return tuple(
        planned
        for planned in plan.targets
        if not globs or any(fnmatch.fnmatchcase(planned.id, pattern) for pattern in globs)
    )


def plugin_cells(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The (framework, version) pairs that the plan's images hold: one plugin build each."""
    return tuple(sorted({(planned.target.framework, str(planned.taken.version)) for planned in plan.targets}))


def _plan_row(
    row: Target, sources: Mapping[str, Source], recipes: Mapping[str, RecipeFile], compatibility: Compatibility
) -> PlannedTarget | RejectedTarget:
    reasons = list(judge_row(row, compatibility))
    if row.recipe not in recipes:
        reasons.append(f"no recipe images/{row.recipe}/image.toml{suggest(row.recipe, recipes)}")
    passed_over: list[RejectedCandidate] = []
    for candidate in row.candidates:
        against = judge_candidate(row, candidate, compatibility)
        if not against and not reasons:
            return _take(row, candidate, tuple(passed_over), sources, recipes)
        passed_over.extend(RejectedCandidate(candidate=candidate, reason=reason) for reason in against)
    reasons += [f"{row.framework} {passed.candidate.version}: {passed.reason}" for passed in passed_over]
    return RejectedTarget(target=row, reasons=tuple(reasons))


def _take(
    row: Target,
    candidate: Candidate,
    passed_over: tuple[RejectedCandidate, ...],
    sources: Mapping[str, Source],
    recipes: Mapping[str, RecipeFile],
) -> PlannedTarget:
    target = replace(row, version=candidate.version)  # the id names what the wheel is, not what was hoped for
    recipe = select_recipe(recipes, target)
    return PlannedTarget(
        target=target,
        recipe=recipe,
        taken=replace(candidate, wheels=(*candidate.wheels, *recipe.wheels)),
        passed_over=passed_over,
        caveats=_list_caveats(target, candidate, sources),
    )


def _list_caveats(target: Target, candidate: Candidate, sources: Mapping[str, Source]) -> tuple[str, ...]:
    caveats = []
    if candidate.evidence == "conjectured":
        caveats.append(f"conjectured: {candidate.evidence_source}")
    caveats += [
        f"source {name}: check-valid-until = false, so an archive index of any age is accepted"
        for name in target.sources
        if not sources[name].check_valid_until
    ]
    caveats += [f"absent: {line}" for line in target.absent]
    return tuple(caveats)


def _reject_double_ids(rows: Sequence[PlannedTarget | RejectedTarget]) -> list[PlannedTarget | RejectedTarget]:
    """Two rows may come to the same id once candidates were passed over; the later one is rejected."""
    ids: set[str] = set()
    kept: list[PlannedTarget | RejectedTarget] = []
    for row in rows:
        if isinstance(row, PlannedTarget) and row.id in ids:
            reason = "an earlier row comes to the same id, after candidates were passed over"
            kept.append(RejectedTarget(target=row.target, reasons=(reason,)))
        else:
            kept.append(row)
        ids |= {row.id} if isinstance(row, PlannedTarget) else set()
    return kept


def _no_such_target(plan: Plan, pattern: str) -> PlanError:
    for rejected in plan.rejected:
        if fnmatch.fnmatchcase(rejected.target.id, pattern):
            return PlanError(f"{rejected.target.id} is rejected: {'; '.join(rejected.reasons)}")
    ids = [planned.id for planned in plan.targets]
    return PlanError(f"no target matches {quote(pattern)}{suggest(pattern, ids)}", hint="rockiln plan lists the ids")
