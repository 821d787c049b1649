"""A source that does not answer is known within seconds, by name, with every place that was tried."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_server import Fault, FaultServer
from planning import make_matrix

from rockiln.matrix import Source, SourceKind
from rockiln.resolve.probe import Answering, Probe, Silent, probe_sources

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        server.files["/a/dists/noble/InRelease"] = b"signed"
        server.files["/w/"] = b"<html>"
        yield server


def _source(url: str, kind: SourceKind = "debian-archive") -> Source:
    return Source(name="it", kind=kind, url=url, suites=("noble",) if kind == "debian-archive" else ())


def _probe(source: Source, *mirrors: str) -> Probe:
    matrix = make_matrix(Path("/project"), (source,), mirrors={source.name: mirrors})
    return probe_sources((source,), {}, matrix, {"PATH": "", "HOME": "/nonexistent"})["it"]


def test_archive_that_has_its_suites_answers(server: FaultServer) -> None:
    assert _probe(_source(f"{server.url}/a")) == Answering(source="it", url=f"{server.url}/a")


def test_first_mirror_that_answers_is_taken(server: FaultServer) -> None:
    probe = _probe(_source("http://unasked.invalid"), f"{NOBODY}/a", f"{server.url}/a")
    assert probe == Answering(source="it", url=f"{server.url}/a")


def test_missing_suite_is_named(server: FaultServer) -> None:
    probe = _probe(_source(f"{server.url}/b"))
    assert isinstance(probe, Silent)
    assert probe.describe() == (
        f'source "it" cannot be reached ({server.url}/b: HTTP 404 for dists/noble/InRelease)'
    )  # fmt: skip


def test_refused_connection_is_said_in_plain_words() -> None:
    probe = _probe(_source(f"{NOBODY}/a"))
    assert isinstance(probe, Silent)
    assert probe.describe() == f'source "it" cannot be reached ({NOBODY}/a: connection refused)'


def test_unknown_host_is_said_in_plain_words() -> None:
    probe = _probe(_source("http://nowhere.invalid/a"))
    assert isinstance(probe, Silent)
    assert "its host name is not known here" in probe.describe()


def test_silent_host_stops_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rockiln.resolve.probe.ANSWER_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        start_s = time.monotonic()
        probe = _probe(_source(f"http://127.0.0.1:{listener.getsockname()[1]}/a"))
        assert time.monotonic() - start_s < 5
    assert isinstance(probe, Silent)
    assert "no answer in time" in probe.describe()


def test_shared_description_names_no_host() -> None:
    probe = _probe(_source(f"{NOBODY}/a/"), "http://me:secret@mirror.invalid/a")
    assert isinstance(probe, Silent)
    assert probe.describe_shared(f"{NOBODY}/a/") == (
        'source "it" cannot be reached (the url that matrix.toml gives: connection refused)'
    )
    assert "secret" not in probe.describe()


def test_source_that_no_tool_knows_is_silent_with_a_note() -> None:
    source = Source(name="it", kind="debian-archive", distribution="no-such-archive", suites=("noble",))
    probe = _probe(source)
    assert isinstance(probe, Silent)
    assert probe.describe_shared("") == (
        'source "it" cannot be reached '
        "(it has no url, and this machine's apt knows no archive called 'no-such-archive')"
    )


def test_a_busy_server_is_asked_again(server: FaultServer) -> None:
    path = "/w/"
    server.script[path] = [Fault(status=503)]
    server.types[path] = "text/html"
    assert isinstance(_probe(_source(f"{server.url}/w", "wheel-directory")), Answering)


def test_index_that_lacks_the_project_answers_all_the_same(server: FaultServer) -> None:
    assert isinstance(_probe(_source(f"{server.url}/simple", "wheel-index")), Answering)


def test_folder_answers_when_it_is_there(tmp_path: Path) -> None:
    assert isinstance(_probe(_source(tmp_path.as_uri(), "wheel-directory")), Answering)
    probe = _probe(_source((tmp_path / "no").as_uri(), "wheel-directory"))
    assert isinstance(probe, Silent)
    assert "no such file or directory" in probe.describe()
