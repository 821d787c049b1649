"""Files of kernel data in a folder + the archs to keep → what becomes of each, before anything is changed."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.slim_file import FileResult, Form, Outcome
from rockiln.fatbin.walk import Found
from rockiln.kernel_data.decision import Decision, Drop, Kept, form_of
from rockiln.kernel_data.judge import CODE_OBJECT, judge
from rockiln.kernel_data.settle import settle


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFile:
    """The row of the report for a file that is not cut; `form` where it has to be."""

    result: FileResult
    form: Form | None = None


def judge_files(
    found: Iterable[Found], root: Path, named_path: Path, archs: AbstractSet[str]
) -> tuple[tuple[Found, JudgedFile], ...]:
    """Each file with its judgement. One that has several names goes only if all of them say so."""
    known = {str(named_path / path.relative_to(root)): path for one in found for path in one.paths}
    names = {path: name for name, path in known.items()}
    decisions = {name: decision for name, path in known.items() if (decision := _judge(name, path, archs))}
    settled = settle(decisions, lambda name: known[name].read_bytes())
    rows = ((one, [settled.get(names[path]) for path in one.paths]) for one in found)
    return tuple((one, _describe(one, _agree([item for item in all_names if item]))) for one, all_names in rows)


def _judge(name: str, path: Path, archs: AbstractSet[str]) -> Decision | None:
    try:
        with path.open("rb") as file:
            return judge(name, ByteSource(file.fileno()), archs)
    except PermissionError as fault:
        return Kept(rule=CODE_OBJECT, reason=f"cannot be read: {fault.strerror}", is_doubt=True)


def _agree(decisions: list[Decision]) -> Decision:
    """What holds for all names of one file."""
    first = next((one for one in decisions if not isinstance(one, Drop)), decisions[0])
    if isinstance(first, Kept) and any(isinstance(one, Drop) for one in decisions):
        return Kept(rule=first.rule, reason=f"by another of its names: {first.reason}", is_doubt=True)
    return first


def _describe(found: Found, decision: Decision) -> JudgedFile:
    return JudgedFile(
        result=describe_decision(found.paths[0], found.size_bytes, decision), form=form_of(decision)
    )


def describe_decision(path: Path, size_bytes: int, decision: Decision) -> FileResult:
    """The row of a file that is dropped or kept whole."""
    outcome: Outcome = "unchanged"
    kept: dict[str, int] = {}
    dropped: dict[str, int] = {}
    if isinstance(decision, Drop):
        outcome, dropped = "dropped", dict.fromkeys(decision.targets, size_bytes)
    elif isinstance(decision, Kept):
        outcome = "refused" if decision.is_doubt else "unchanged"
        kept = dict.fromkeys(sorted(decision.archs), size_bytes)
    return FileResult(
        path=path, outcome=outcome, before_bytes=size_bytes, after_bytes=0 if outcome == "dropped" else size_bytes,
        kept=kept, dropped=dropped, rule=decision.rule, reason=getattr(decision, "reason", ""),
    )  # fmt: skip
