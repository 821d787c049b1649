"""Recordings, shards and workers → Schedule: who builds what when, and what is moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rockiln.simulate.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One target on one machine."""

    target_id: str
    shard: int
    worker: int
    """From 1, as shards."""
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Seconds are of recorded builds; time for pushing is not in them."""

    shards: int
    workers: int
    makespan_s: float
    machine_s: float
    """Of all machines together."""
    fetched_bytes: int
    """By all machines: each fetches what its cache lacks."""
    pushed_bytes: int
    """Each layer once: the registry has it for the later ones."""
    slots: tuple[Slot, ...]


@dataclass(slots=True, kw_only=True)
class _Machine:
    number: int
    free_s: float = 0.0
    artifacts: set[str] = field(default_factory=set)
    layers: set[str] = field(default_factory=set)


def simulate(
    recordings: Mapping[str, Recording], shards: Sequence[Sequence[str]], workers: int, *, keeps_cache: bool = False
) -> Schedule:
    """The longest shard first, each to the machine that is free first; its targets in turn.

    A shard begins with an empty cache, as on a CI system's own machines; with `keeps_cache` a machine keeps what its
    earlier shards left.
    """
    machines = [_Machine(number=number) for number in range(1, workers + 1)]
    lengths = {number: _build_all(recordings, shard, _Machine(number=0))[0] for number, shard in enumerate(shards, 1)}
    slots: list[Slot] = []
    fetched_bytes = 0
    for number in sorted(lengths, key=lambda number: (-lengths[number], number)):
        machine = min(machines, key=lambda machine: (machine.free_s, machine.number))
        if not keeps_cache:
            machine.artifacts, machine.layers = set(), set()
        for target_id in shards[number - 1]:
            spent_s, moved = _build(recordings[target_id], machine)
            start_s, machine.free_s = machine.free_s, machine.free_s + spent_s
            fetched_bytes += moved
            slots.append(Slot(target_id=target_id, shard=number, worker=machine.number, start_s=start_s,
                              end_s=machine.free_s))  # fmt: skip
    layers = {digest: size for recording in recordings.values() for digest, size in recording.layers.items()}
    return Schedule(
        shards=len(shards), workers=workers, makespan_s=max((machine.free_s for machine in machines), default=0.0),
        machine_s=sum(machine.free_s for machine in machines), fetched_bytes=fetched_bytes,
        pushed_bytes=sum(layers.values()), slots=tuple(slots),
    )  # fmt: skip


def _build_all(recordings: Mapping[str, Recording], shard: Sequence[str], machine: _Machine) -> tuple[float, int]:
    spent = [_build(recordings[target_id], machine) for target_id in shard]
    return sum(seconds for seconds, _ in spent), sum(moved for _, moved in spent)


def _build(recording: Recording, machine: _Machine) -> tuple[float, int]:
    """Seconds and bytes fetched; the machine then has the target's artifacts and layers."""
    fetched = _add_lacking(recording.artifacts, machine.artifacts)
    written = _add_lacking(recording.layers, machine.layers)
    seconds = (
        recording.rest_s
        + recording.artifacts_s * _part(fetched, recording.artifacts)
        + recording.layers_s * _part(written, recording.layers)
    )
    return seconds, fetched


def _add_lacking(parts: Mapping[str, int], cache: set[str]) -> int:
    lacking = sum(size for name, size in parts.items() if name not in cache)
    cache.update(parts)
    return lacking


def _part(some: int, parts: Mapping[str, int]) -> float:
    whole = sum(parts.values())
    return some / whole if whole else 0.0
