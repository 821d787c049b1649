"""rockiln simulate: recorded stage times → how long N machines take for the matrix, and what they move."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.verbs.answer import Answer, format_bytes, tabulate
from rockiln.verbs.arguments import add_json, add_targets, positive

if TYPE_CHECKING:
    from rockiln.simulate.schedule import Schedule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --shards, --workers, --keep-cache, --json."""
    add_targets(parser, required=False)
    parser.add_argument("--shards", type=_parse_counts, default=(), metavar="N,...",
                        help="numbers of shards to compare (default: 1, 2, 4, ... up to one a target)")  # fmt: skip
    parser.add_argument("--workers", type=positive, metavar="N", help="machines (default: one a shard)")
    parser.add_argument("--keep-cache", action="store_true", help="machines keep what their earlier shards left")
    add_json(parser)


def _parse_counts(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(positive(word) for word in text.split(",")))


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """A line a number of shards. Raises UsageError where a target was never timed, with all of those."""
    from rockiln.export.shards import make_shards
    from rockiln.simulate.recording import Recording, read_recording
    from rockiln.simulate.schedule import simulate

    recordings: dict[str, Recording] = {}
    faults: list[UsageError] = []
    for planned in invocation.select(tuple(args.targets)):
        try:
            recordings[planned.id] = read_recording(invocation.folders.target_path(planned.id))
        except UsageError as fault:
            faults.append(fault)
    if faults:
        hints = tuple(dict.fromkeys(fault.hint for fault in faults))
        raise UsageError("\n".join(fault.message for fault in faults), hint="\n      ".join(hints))
    parts = {target_id: recording.artifacts for target_id, recording in recordings.items()}
    schedules = []
    counts = args.shards or _choose_counts(len(recordings))
    for count in dict.fromkeys(min(count, len(recordings)) for count in counts):  # no shard is empty
        shards = make_shards(parts, count)
        workers = args.workers or len(shards)
        schedules.append(simulate(recordings, shards, workers, keeps_cache=args.keep_cache))
    return Answer(text=describe_schedules(schedules), value=schedules)


def _choose_counts(targets: int) -> tuple[int, ...]:
    powers = [1 << number for number in range(targets.bit_length())]
    return tuple(dict.fromkeys((*(count for count in powers if count < targets), targets)))


def describe_schedules(schedules: Sequence[Schedule]) -> str:
    """A table, the shortest last of equals unsaid: who reads it chooses."""
    rows: list[tuple[str, ...]] = [("shards", "workers", "makespan", "machines", "fetched", "pushed")]
    rows += [
        (
            str(one.shards), str(one.workers), f"{one.makespan_s:.1f} s", f"{one.machine_s:.1f} s",
            format_bytes(one.fetched_bytes), format_bytes(one.pushed_bytes),
        )
        for one in schedules
    ]  # fmt: skip
    return tabulate(rows)
