"""What a person gets for a wrong word on the command line: one message, what to do, the exit code of its kind."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rockiln.cli import main, make_parser

ROOT = Path(__file__).parents[2]
ROW = "jax-0.6.2-cpu-py3.11-debian-12"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Exit code and stderr of a command in this project."""
    code = main(["--project", str(ROOT), *words])
    return code, capsys.readouterr().err


def test_mirror_of_an_unknown_source_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "--mirror", "debian12=http://127.0.0.1/", "plan")
    assert code == 2
    assert '"debian12"' in said
    assert 'did you mean "debian-12"?' in said


@pytest.mark.parametrize("pair", ["debian-12=ftp://127.0.0.1/", "debian-12=notaurl", "debian-12=", "=http://127.0.0.1/"])
def test_mirror_that_is_no_url_is_refused(pair: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "--mirror", pair, "plan")
    assert code == 2
    assert "SOURCE=URL" in said


def test_report_without_a_folder_is_refused_before_checks_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(capsys, "smoke", ROW, "--junit", str(tmp_path / "none" / "report.xml"))
    assert code == 2
    assert str(tmp_path / "none") in said


@pytest.mark.parametrize("words", [("smoke", ROW, "--junit"), ("bundle", ROW, "--output")])
def test_folder_in_place_of_a_file_is_refused_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, said = run(capsys, *words, str(tmp_path))
    assert code == 2
    assert f"{words[-1]}: {tmp_path} is a folder" in said


def test_bundle_does_not_take_the_place_of_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, said = run(capsys, "bundle", ROW, "--output", str(tmp_path / "pipe"))
    assert code == 2
    assert f"--output: {tmp_path / 'pipe'} is a device or a pipe" in said


def test_tier_that_an_image_does_not_have_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "smoke", ROW, "--tier", "gpu")
    assert code == 2
    assert "it has: cpu" in said


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from _parsers(sub)


def test_help_can_be_printed_in_any_locale() -> None:
    assert all(parser.format_help().isascii() for parser in _parsers(make_parser()))


@pytest.mark.parametrize("verb", ["build", "diff", "licences", "promote", "publish", "pull", "push", "smoke", "verify"])
def test_verbs_that_talk_to_a_registry_take_what_its_errors_advise(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    said = capsys.readouterr().out
    assert "--plain-http" in said
    assert "--ca FILE" in said


def test_debug_shows_the_traceback_and_keeps_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "--debug", "plan", "nope")
    assert code == 4
    assert said.startswith("Traceback (most recent call last)")
    assert 'rockiln: error: no target matches "nope"' in said


@pytest.mark.parametrize("closing", ["2>&-", "2>/dev/full"])
def test_a_closed_or_full_standard_error_changes_no_exit_code(closing: str) -> None:
    command = f"exec {sys.executable} -m rockiln --project {ROOT} plan nope"
    done = subprocess.run(["sh", "-c", f"{command} {closing}"], check=False, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (4, b"")


@pytest.mark.parametrize("words", [("plan", ROW), ("bundle", ROW, "--output", "x"), ("push", ROW, "--to", "h/n")])
def test_flags_for_every_verb_may_follow_it(words: tuple[str, ...]) -> None:
    flags = ("--quiet", "--debug", "--project", "p", "--cache", "c", "--mirror", "a=/b")
    before, after = (make_parser().parse_args(order) for order in ((*flags, *words), (*words, *flags)))
    for name in ("quiet", "debug", "project", "cache"):
        assert getattr(before, name) == getattr(after, name)
    assert (before.mirror, after.late_mirror) == (["a=/b"], ["a=/b"])
    mixed = make_parser().parse_args(["--quiet", "--mirror", "a=/b", *words, "--mirror", "c=/d"])
    assert (mixed.quiet, mixed.mirror, mixed.late_mirror) == (True, ["a=/b"], ["c=/d"])


def test_mirror_after_the_verb_counts(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "plan", "--mirror", "debian12=http://127.0.0.1/")
    assert code == 2
    assert 'did you mean "debian-12"?' in said
