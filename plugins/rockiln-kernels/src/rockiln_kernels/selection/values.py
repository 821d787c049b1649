"""What was chosen for a call → Selection: who runs it, with what, why, and why nobody else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from rockiln_kernels.bind import Bound

Provider = Literal["pack", "aiter", "framework"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedCandidate:
    """A variant of the pack, or a provider, that does not run the call."""

    candidate: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The answer for one call on one host. `kernel` is a variant's key; None where the pack does not run it."""

    op: str
    arch: str
    provider: Provider
    kernel: str | None
    reason: str
    rejected: tuple[RejectedCandidate, ...]
    bound: Bound | None = None
    """Launches and workspaces, where the pack runs the call."""


class NotSelectedError(Exception):
    """Strict mode: the pack does not run a call. `selection` says why."""

    def __init__(self, selection: Selection) -> None:
        reasons = "; ".join(f"{item.candidate}: {item.reason}" for item in selection.rejected)
        super().__init__(f"{selection.op} on {selection.arch} would go to {selection.provider}: {reasons}")
        self.selection = selection


def describe_selection(selection: Selection) -> str:
    """Lines for a person."""
    lines = [f"{selection.op} on {selection.arch}: {selection.kernel or selection.provider}", f"  {selection.reason}"]
    launches = selection.bound.launches if selection.bound else ()
    lines += [f"  launches {item.key}, grid {' x '.join(map(str, item.grid))}" for item in launches]
    return "\n".join([*lines, *(f"  not {item.candidate}: {item.reason}" for item in selection.rejected)])


def dump_selection(selection: Selection) -> str:
    """JSON: the fields, without launches."""
    fields = {name: getattr(selection, name) for name in ("op", "arch", "provider", "kernel", "reason")}
    rejected = [{"candidate": item.candidate, "reason": item.reason} for item in selection.rejected]
    return json.dumps({**fields, "rejected": rejected}, indent=1)
