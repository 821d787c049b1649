"""What `rockiln simulate` says of a project."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from export.requests import ROOT, invoke, parse
from simulate.timed_builds import write_build

from rockiln import cli
from rockiln.simulate.schedule import Schedule
from rockiln.verbs.simulate import _choose_counts, answer, describe_schedules


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


def test_more_shards_than_targets_are_as_many_as_targets(tmp_path: Path) -> None:
    invocation = invoke()
    one, two = [planned.id for planned in invocation.select(("*-cpu-*",))][:2]
    for target_id in (one, two):
        write_build(tmp_path / target_id, 40)
    invocation = replace(invocation, folders=replace(invocation.folders, build_path=tmp_path))
    for words, counts in (((one, "--shards", "1,2,4"), [1]), ((one, two, "--shards", "4,2,1"), [2, 1])):
        done = answer(parse("simulate", *words), invocation)
        assert len(done.text.splitlines()) == 1 + len(counts)
        assert [schedule.shards for schedule in done.value] == counts  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulate", "--shards", ","), "argument --shards: nothing is not a number of at least 1"),
        (("simulate", "--shards", "1,x"), "argument --shards: x is not a number of at least 1"),
        (("simulate", "--workers", "0"), "argument --workers: 0 is not a number of at least 1"),
        (("export", "github", "--shards", "x"), "argument --shards: x is not a number of at least 1"),
        (("export", "kubernetes", "--group", "video"), "argument --group: video is not a number of at least 1"),
        (("build", "a", "--jobs", "1.5"), "argument --jobs: 1.5 is not a number of at least 1"),
    ],
)
def test_number_that_is_none_is_refused_in_words(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(*words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_commands_of_the_page_time_what_they_replay() -> None:
    text = (ROOT / "docs" / "simulate.md").read_text("utf-8")
    build, simulate = (shlex.split(line, comments=True) for line in re.findall(r"^rockiln .*", text, re.MULTILINE))
    timed, replayed = (cli.make_parser().parse_args(words[1:]).targets for words in (build, simulate))
    assert invoke().select(tuple(replayed)) == invoke().select(tuple(timed))
