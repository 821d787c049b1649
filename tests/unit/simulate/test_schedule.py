"""Schedules against sums made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from simulate.timed_builds import write_build

from rockiln.errors import UsageError
from rockiln.export.shards import make_shards, weigh
from rockiln.jsonable import write_value
from rockiln.simulate.recording import Recording, read_recording
from rockiln.simulate.schedule import simulate
from rockiln.stage_times import Stopwatch, read_times, write_times

SHARED = {"os": 100}
SHARED_LAYER = {"os-layer": 40}


def make_recording(target_id: str, own: int, rest_s: float) -> Recording:
    """100 bytes are everybody's; a second a byte of artifacts, half of one a byte of layers."""
    artifacts = {**SHARED, f"{target_id}-wheel": own}
    layers = {**SHARED_LAYER, f"{target_id}-layer": own}
    return Recording(
        target_id=target_id, artifacts=artifacts, layers=layers, artifacts_s=100.0 + own,
        layers_s=(40 + own) / 2, rest_s=rest_s,
    )  # fmt: skip


TWO = {"a": make_recording("a", 20, 5), "b": make_recording("b", 60, 7)}
A_COLD = 120 + 30 + 5
B_COLD = 160 + 50 + 7
B_AFTER_A = 60 + 30 + 7


def test_one_machine_fetches_what_is_shared_once() -> None:
    done = simulate(TWO, [("a", "b")], 1)
    assert done.makespan_s == done.machine_s == pytest.approx(A_COLD + B_AFTER_A)
    assert done.fetched_bytes == 100 + 20 + 60
    assert done.pushed_bytes == 40 + 20 + 60


def test_two_machines_are_done_when_the_longer_is() -> None:
    done = simulate(TWO, [("a",), ("b",)], 2)
    assert done.makespan_s == B_COLD
    assert done.machine_s == A_COLD + B_COLD
    assert done.fetched_bytes == 100 + 20 + 100 + 60
    assert done.pushed_bytes == 40 + 20 + 60


@pytest.mark.parametrize(("keeps", "total"), [(False, B_COLD + A_COLD), (True, B_COLD + 20 + 10 + 5)])
def test_two_shards_on_one_machine_share_only_a_cache_that_is_kept(keeps: bool, total: float) -> None:
    done = simulate(TWO, [("a",), ("b",)], 1, keeps_cache=keeps)
    assert done.makespan_s == pytest.approx(total)
    assert [(slot.target_id, slot.start_s) for slot in done.slots] == [("b", 0.0), ("a", B_COLD)]


def test_longest_shard_goes_first_to_the_machine_that_is_free() -> None:
    rows = {name: make_recording(name, 0, rest_s) for name, rest_s in (("a", 30), ("b", 50), ("c", 40), ("d", 10))}
    done = simulate(rows, [("a",), ("b",), ("c",), ("d",)], 2)
    cold = 100 + 20
    ends = {slot.target_id: (slot.worker, slot.end_s) for slot in done.slots}
    assert ends["b"] == (1, cold + 50)
    assert ends["c"] == (2, cold + 40)
    assert ends["a"] == (2, 2 * cold + 70)
    assert ends["d"] == (1, 2 * cold + 60)


def test_shards_put_together_what_shares_most() -> None:
    parts = {
        "torch-a": {"rocm": 90, "torch": 9}, "jax-a": {"rocm": 90, "jax": 3},
        "torch-cpu": {"os": 10, "torch": 9}, "jax-cpu": {"os": 10, "jax": 3},
    }  # fmt: skip
    assert make_shards(parts, 2) == (("torch-a", "jax-a"), ("torch-cpu", "jax-cpu"))
    assert make_shards(parts, 1) == (tuple(parts),)
    assert make_shards(parts, 9) == tuple((name,) for name in parts)
    assert weigh(parts, ("torch-cpu", "jax-cpu")) == 22


def test_recording_sorts_seconds_by_what_they_go_with(tmp_path: Path) -> None:
    found = read_recording(write_build(tmp_path / "tiny", 40))
    assert (found.artifacts_s, found.layers_s, found.rest_s) == (3.0, 4.0, 0.875)
    assert found.artifacts == {"aa": 10, "bb": 30}
    assert found.layers == {"sha256:cc": 7}


def test_own_wheels_are_built_and_count_as_not_fetched(tmp_path: Path) -> None:
    assert read_recording(write_build(tmp_path / "tiny", 30, source="own")).artifacts_s == 3.0


def test_warm_build_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fetched 0 of 40 bytes") as caught:
        read_recording(write_build(tmp_path / "tiny", 0))
    assert "build --verify tiny" in caught.value.hint


def test_target_that_was_not_timed_is_named(tmp_path: Path) -> None:
    folder = write_build(tmp_path / "tiny", 40)
    (folder / "times.json").unlink()
    with pytest.raises(UsageError, match="tiny: no build has been timed"):
        read_recording(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is damaged: "),
        ("", "is damaged: "),
        ("[]", "a value in it is of another type than it should be"),
        ('{"format": 9}', "its format is 9, not 1"),
        ('{"format": 1, "seconds": 3}', "a value in it is of another type than it should be"),
        ('{"format": 1, "seconds": {}}', "lacks 'fetched_bytes'"),
    ],
)
def test_damaged_recording_is_said_to_be_damaged(tmp_path: Path, text: str, said: str) -> None:
    folder = write_build(tmp_path / "tiny", 40)
    (folder / "times.json").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_recording(folder)
    assert caught.value.message.startswith(f"{folder / 'times.json'} is damaged: ")
    assert said in caught.value.message
    assert "build --verify tiny" in caught.value.hint


def test_parts_of_a_stage_add_up(tmp_path: Path) -> None:
    watch = Stopwatch()
    for _ in range(2):
        with watch.stage("fetch"):
            pass
    write_value({"fetched_bytes": 3}, tmp_path / "fetch.json")
    write_times(tmp_path, watch)
    assert list(json.loads((tmp_path / "times.json").read_text())["seconds"]) == ["fetch"]
    assert read_times(tmp_path) is not None
