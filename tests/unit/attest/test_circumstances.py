"""What a person says for the provenance is in the form that others can read, or refused before anything is signed."""

from __future__ import annotations

import argparse

import pytest

from rockiln.attest.provenance import Circumstances
from rockiln.errors import UsageError
from rockiln.verbs.circumstances import add_circumstances, read_circumstances

COMMIT = "ab" * 20


def read(*words: str) -> Circumstances:
    parser = argparse.ArgumentParser()
    add_circumstances(parser)
    return read_circumstances(parser.parse_args(words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--started-on", "yesterday"), '--started-on: "yesterday" is no time'),
        (("--started-on", "2026-02-30T12:00:00Z"), "is no time"),
        (("--started-on", "2026-02-03 12:00:00Z"), "is no time"),
        (("--started-on", "2026-02-03T12:00:00"), "is no time"),
        (("--started-on", "2026-02-03T12:00:00Z\n"), "is no time"),
        (("--builder", "not a uri"), '--builder: "not a uri" is no URI'),
        (("--builder", "ci"), "is no URI"),
        (("--source", "x y"), '--source: "x y" is no URI'),
        (("--source", "https://h/%zz"), "is no URI"),
        (("--revision", COMMIT), "--revision is a commit of --source, which is not given"),
        (("--revision", "main", "--source", "https://h/x"), '--revision: "main" is no commit'),
    ],
)
def test_what_has_another_form_is_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as error:
        read(*words)
    assert said in error.value.message


@pytest.mark.parametrize("time", ["2026-11-30T12:00:00Z", "2026-11-30t12:00:00.123456789+01:00"])
@pytest.mark.parametrize("uri", ["https://example.org/ci?run=7", "git+https://h/x@refs/heads/main", "urn:a:b%20c"])
def test_what_has_the_form_is_said(time: str, uri: str) -> None:
    said = read("--builder", uri, "--started-on", time, "--source", uri, "--revision", COMMIT, "--invocation-id", "a b")
    assert said == Circumstances(
        builder_id=uri, started_on=time, source_uri=uri, source_revision=COMMIT, invocation_id="a b"
    )


def test_what_is_not_given_is_not_said() -> None:
    assert read() == Circumstances()
