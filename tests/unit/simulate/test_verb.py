"""What `rockiln simulate` says of a project."""

from __future__ import annotations

from rockiln.simulate.schedule import Schedule
from rockiln.verbs.simulate import _choose_counts, describe_schedules


def test_counts_double_up_to_one_a_target() -> None:
    assert [_choose_counts(number) for number in (1, 2, 3, 8)] == [(1,), (1, 2), (1, 2, 3), (1, 2, 4, 8)]


def test_table_has_a_line_a_number_of_shards() -> None:
    one = Schedule(
        shards=2, workers=2, makespan_s=60.24, machine_s=101.06, fetched_bytes=39_000_000, pushed_bytes=36_400_000,
        slots=(),
    )  # fmt: skip
    head, row = describe_schedules([one]).splitlines()
    assert head.split() == ["shards", "workers", "makespan", "machines", "fetched", "pushed"]
    assert row.split() == ["2", "2", "60.2", "s", "101.1", "s", "39.0", "MB", "36.4", "MB"]
