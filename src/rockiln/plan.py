"""Matrix + recipes + compatibility table → Plan. Pure: no network, no clock, under 0.3 s."""

from __future__ import annotations

from dataclasses import dataclass

from rockiln.matrix import Candidate, Target
from rockiln.recipe import Recipe


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
