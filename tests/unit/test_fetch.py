"""Fetch gets every file past every fault of a server, or names each file and each place's answer."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import pytest
from fault_server import Fault, FaultServer, make_artifact, make_bytes
from fetching import NOON_S, PlayTime, make_fetcher, make_matrix

from rockiln.download.partial import part_bytes, part_path
from rockiln.errors import DiskError, FetchError, GoneError, IntegrityError
from rockiln.fetch import require_held
from rockiln.store import Store

BYTES = make_bytes(7, 3_000_001)
HELLO = make_artifact(BYTES)
PATH = "/debian/" + HELLO.path
NOBODY = "http://127.0.0.1:9"
"""The discard port: nothing listens there."""


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        server.files[PATH] = BYTES
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def left_over(store: Store) -> list[str]:
    """Files of the store that are no whole artifacts."""
    return sorted(path.name for path in store.path.rglob("*") if path.is_file() and len(path.name) != 64)


def test_file_comes_and_is_verified(server: FaultServer, store: Store) -> None:
    report = make_fetcher(store, server.url + "/debian/").fetch([HELLO])
    assert store.path_of(HELLO).read_bytes() == BYTES
    assert (report.fetched_files, report.fetched_bytes, report.held_files) == (1, len(BYTES), 0)
    assert report.source_bytes == {"debian": len(BYTES)}
    assert left_over(store) == []


def test_held_file_is_not_asked_for(server: FaultServer, store: Store) -> None:
    fetcher = make_fetcher(store, server.url + "/debian")
    fetcher.fetch([HELLO])
    report = fetcher.fetch([HELLO, HELLO])
    assert (report.fetched_files, report.held_files, report.held_bytes) == (0, 1, len(BYTES))
    assert len(server.requests) == 1


def test_two_failures_then_success(server: FaultServer, store: Store) -> None:
    time = PlayTime()
    server.script[PATH] = [Fault(status=500), Fault(status=503)]
    make_fetcher(store, server.url + "/debian", time=time).fetch([HELLO])
    assert store.holds(HELLO)
    assert len(server.requests) == 3
    assert time.slept_s == pytest.approx(0.5 + 1.0)


def test_attempts_are_bounded(server: FaultServer, store: Store) -> None:
    server.script[PATH] = [Fault(status=500)] * 50
    with pytest.raises(FetchError, match=r"answered 500 Internal Server Error \(asked 5 times\)") as caught:
        make_fetcher(store, server.url + "/debian").fetch([HELLO])
    assert not isinstance(caught.value, GoneError)
    assert len(server.requests) == 5
    assert "mirror" in caught.value.hint


@pytest.mark.parametrize("retry_after", ["7", formatdate(NOON_S + 7, usegmt=True)])
def test_retry_after_is_honoured(server: FaultServer, store: Store, retry_after: str) -> None:
    time = PlayTime()
    server.script[PATH] = [Fault(status=429, headers={"Retry-After": retry_after})]
    make_fetcher(store, server.url + "/debian", time=time).fetch([HELLO])
    assert time.slept_s == pytest.approx(7)


def test_server_that_asks_for_an_hour_is_given_up(server: FaultServer, store: Store) -> None:
    time = PlayTime()
    server.script[PATH] = [Fault(status=429, headers={"Retry-After": "3600"})]
    with pytest.raises(FetchError, match="429"):
        make_fetcher(store, server.url + "/debian", time=time).fetch([HELLO])
    assert time.slept_s == 0


@pytest.mark.parametrize("is_chunked", [False, True])
def test_half_a_body_is_continued_not_begun_anew(server: FaultServer, store: Store, is_chunked: bool) -> None:
    server.script[PATH] = [Fault(sent_fraction=0.5, is_chunked=is_chunked)]
    make_fetcher(store, server.url + "/debian").fetch([HELLO])
    assert store.path_of(HELLO).read_bytes() == BYTES
    second = server.requests[1].headers
    assert second["Range"] == f"bytes={len(BYTES) // 2}-"
    assert second["If-Range"].startswith('"')


def test_connection_closed_before_an_answer_is_asked_again(server: FaultServer, store: Store) -> None:
    server.script[PATH] = [Fault(closes_at_once=True)]
    make_fetcher(store, server.url + "/debian").fetch([HELLO])
    assert store.holds(HELLO)


def test_progress_earns_more_attempts(server: FaultServer, store: Store) -> None:
    content = make_bytes(8, 30 << 20)
    artifact = make_artifact(content)
    server.files[PATH] = content
    server.script[PATH] = [Fault(sent_fraction=0.15)] * 8
    make_fetcher(store, server.url + "/debian").fetch([artifact])
    assert store.holds(artifact)
    assert len(server.requests) == 9, "more than the five attempts without progress"


def test_server_that_always_sends_the_first_half_is_given_up(server: FaultServer, store: Store) -> None:
    server.script[PATH] = [Fault(sent_fraction=0.5, ignores_range=True)] * 50
    with pytest.raises(FetchError, match="connection broke"):
        make_fetcher(store, server.url + "/debian").fetch([HELLO])
    assert len(server.requests) <= 6


def test_server_without_ranges_starts_over(server: FaultServer, store: Store) -> None:
    server.script[PATH] = [Fault(sent_fraction=0.9), Fault(ignores_range=True)]
    make_fetcher(store, server.url + "/debian").fetch([HELLO])
    assert store.path_of(HELLO).read_bytes() == BYTES


def test_part_of_another_file_is_not_continued(server: FaultServer, store: Store) -> None:
    """The first server's file had another validator: If-Range makes the second one send everything."""
    other = BYTES[:1000] + b"!" + BYTES[1001:]
    server.script[PATH] = [Fault(sent_fraction=0.5, body=other)]
    make_fetcher(store, server.url + "/debian").fetch([HELLO])
    assert store.path_of(HELLO).read_bytes() == BYTES
    assert len(server.requests) == 2


def test_stalled_server_counts_as_cut(server: FaultServer, store: Store) -> None:
    server.script[PATH] = [Fault(sent_fraction=0.5, stalls=True)]
    make_fetcher(store, server.url + "/debian", patience=PlayTime().patience(stall_s=0.3)).fetch([HELLO])
    assert store.holds(HELLO)
    assert server.requests[1].headers["Range"] == f"bytes={len(BYTES) // 2}-"


@pytest.mark.parametrize("old", [BYTES[:1_000_000], BYTES, BYTES + b"more", b"rubbish", b"x" * len(BYTES)])
def test_any_part_left_by_an_earlier_run_ends_in_the_right_file(server: FaultServer, store: Store, old: bytes) -> None:
    part = part_path(HELLO, store)
    part.parent.mkdir(parents=True)
    part.write_bytes(old)
    make_fetcher(store, server.url + "/debian").fetch([HELLO])
    assert store.path_of(HELLO).read_bytes() == BYTES
    assert left_over(store) == []
    assert bool(server.requests) == (old != BYTES), "a whole part needs no server"


def test_wrong_bytes_are_fetched_anew_once(server: FaultServer, store: Store) -> None:
    server.script[PATH] = [Fault(body=b"x" * len(BYTES))]
    make_fetcher(store, server.url + "/debian").fetch([HELLO])
    assert store.path_of(HELLO).read_bytes() == BYTES


@pytest.mark.parametrize("body", [b"x" * len(BYTES), BYTES + b"x", BYTES[:-1]])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_wrong_bytes_for_ever_are_an_integrity_error(
    server: FaultServer, store: Store, body: bytes, is_chunked: bool
) -> None:
    server.files[PATH] = body
    server.script[PATH] = [Fault(is_chunked=is_chunked)] * 9
    with pytest.raises((IntegrityError, FetchError), match=r"hello_2\.10-3_amd64\.deb") as caught:
        make_fetcher(store, server.url + "/debian").fetch([HELLO])
    short_and_unsized = is_chunked and len(body) < len(BYTES)
    assert isinstance(caught.value, FetchError if short_and_unsized else IntegrityError)
    assert not store.holds(HELLO)
    assert part_bytes(HELLO, store) < len(BYTES)


def test_mirror_that_fails_gives_way_at_once(server: FaultServer, store: Store) -> None:
    time = PlayTime()
    make_fetcher(store, NOBODY, server.url + "/wrong", server.url + "/debian", time=time).fetch([HELLO])
    assert store.holds(HELLO)
    assert time.slept_s == 0


def test_places_are_asked_in_order(server: FaultServer, store: Store) -> None:
    matrix = make_matrix(snapshots={"debian": server.url + "/snapshot/20250101T000000Z"})
    server.files = {"/snapshot/20250101T000000Z/" + HELLO.path: BYTES}
    make_fetcher(store, server.url + "/mirror", server.url + "/debian", matrix=matrix).fetch([HELLO])
    folders = [path.split("/")[1] for path in server.paths()]
    assert folders == ["mirror", "debian", "snapshot"]


@pytest.mark.parametrize("status", [404, 410])
def test_deb_that_left_every_place_is_gone(server: FaultServer, store: Store, status: int) -> None:
    matrix = make_matrix(snapshots={"debian": server.url + "/snapshot"})
    server.script = {PATH: [Fault(status=status)]}
    with pytest.raises(GoneError) as caught:
        make_fetcher(store, server.url + "/debian", matrix=matrix).fetch([HELLO])
    message = caught.value.message
    assert "hello_2.10-3_amd64.deb" in message
    assert f"source 'debian' at {server.url}/debian: answered {status}" in message
    assert f"source 'debian' at {server.url}/snapshot: answered 404" in message
    assert "rockiln lock --refresh debs TARGET" in caught.value.hint


def test_one_place_without_an_answer_means_not_gone(server: FaultServer, store: Store) -> None:
    server.files.clear()
    with pytest.raises(FetchError, match="no connection") as caught:
        make_fetcher(store, server.url + "/debian", NOBODY).fetch([HELLO])
    assert not isinstance(caught.value, GoneError)


def test_every_missing_file_is_named_and_the_others_are_fetched(server: FaultServer, store: Store) -> None:
    missing = [make_artifact(b"%d" % number, f"pool/m/m/m{number}_1_all.deb") for number in range(20)]
    busy = make_artifact(b"busy", "pool/b/b/busy_1_all.deb")
    server.script["/debian/" + busy.path] = [Fault(status=500)] * 9
    with pytest.raises(FetchError, match="21 of 22 files could not be fetched") as caught:
        make_fetcher(store, server.url + "/debian").fetch([*missing, busy, HELLO])
    for artifact in [*missing, busy]:
        assert artifact.file in caught.value.message
    assert "rockiln lock --refresh debs TARGET" in caught.value.hint
    assert store.holds(HELLO)


def test_silent_host_costs_seconds_not_minutes(store: Store) -> None:
    time = PlayTime()
    artifacts = [make_artifact(b"%d" % number, f"pool/m/m/m{number}_1_all.deb") for number in range(200)]
    with pytest.raises(FetchError, match="200 of 200 files"):
        make_fetcher(store, NOBODY, time=time).fetch(artifacts)
    assert time.slept_s < 8 * 1.5 + 1, "eight threads share the play clock; each is patient once"


def test_redirect_is_followed(server: FaultServer, store: Store) -> None:
    with FaultServer() as front:
        path = "/debian/" + HELLO.path
        front.script[path] = [Fault(status=302, headers={"Location": server.url + PATH})]
        make_fetcher(store, front.url + "/debian").fetch([HELLO])
    assert store.holds(HELLO)


def test_redirect_circle_ends(server: FaultServer, store: Store) -> None:
    server.script[PATH] = [Fault(status=302, headers={"Location": server.url + PATH})] * 100
    with pytest.raises(FetchError, match="redirects"):
        make_fetcher(store, server.url + "/debian").fetch([HELLO])


def test_credentials_of_a_url_are_sent_but_never_said(server: FaultServer, store: Store) -> None:
    url = server.url.replace("//", "//user:s3cret@") + "/debian"
    server.script[PATH] = [Fault(status=401)]
    with pytest.raises(FetchError, match="401") as caught:
        make_fetcher(store, url).fetch([HELLO])
    assert server.requests[0].headers["Authorization"].startswith("Basic ")
    assert "s3cret" not in caught.value.message + caught.value.hint


def test_netrc_does_not_override_the_url(server: FaultServer, store: Store, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login other password other\n")
    url = server.url.replace("//", "//user:pass@") + "/debian"
    make_fetcher(store, url, environ={"NETRC": str(tmp_path / "netrc")}).fetch([HELLO])
    assert server.requests[0].headers["Authorization"] == "Basic dXNlcjpwYXNz"


def test_unreadable_netrc_is_named(server: FaultServer, store: Store, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine\n")
    with pytest.raises(FetchError, match=f"{tmp_path}/netrc: cannot read"):
        make_fetcher(store, server.url, environ={"NETRC": str(tmp_path / "netrc")}).fetch([HELLO])


@pytest.mark.parametrize("proxy", ["gopher://127.0.0.1:9", "socks5://127.0.0.1:9", "http://127.0.0.1:port"])
def test_unusable_proxy_variable_is_an_error_not_a_traceback(
    store: Store, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(FetchError, match="the proxy variables name no proxy that can be used"):
        make_fetcher(store, "http://archive.invalid").fetch([HELLO])


def test_place_that_takes_connections_but_never_answers_is_given_up_for_all_files(store: Store) -> None:
    artifacts = [make_artifact(b"%d" % number, f"pool/m/m/m{number}_1_all.deb") for number in range(50)]
    with FaultServer() as mute:
        mute.script = {f"/debian/{artifact.path}": [Fault(closes_at_once=True)] * 9 for artifact in artifacts}
        with pytest.raises(FetchError, match="50 of 50 files"):
            make_fetcher(store, mute.url + "/debian").fetch(artifacts)
        assert len(mute.requests) <= 8 * 3


def test_netrc_gives_the_password_of_a_host(server: FaultServer, store: Store, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login user password s3cret\n")
    (tmp_path / ".netrc").chmod(0o600)
    make_fetcher(store, server.url + "/debian", environ={"HOME": str(tmp_path)}).fetch([HELLO])
    assert server.requests[0].headers["Authorization"].startswith("Basic ")


def test_file_place_is_copied(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "with space+plus" / HELLO.path
    path.parent.mkdir(parents=True)
    path.write_bytes(BYTES)
    make_fetcher(store, (tmp_path / "with space+plus").as_uri()).fetch([HELLO])
    assert store.path_of(HELLO).read_bytes() == BYTES
    assert path.read_bytes() == BYTES


def test_missing_file_place_is_gone(store: Store, tmp_path: Path) -> None:
    with pytest.raises(GoneError, match="no such file"):
        make_fetcher(store, tmp_path.as_uri()).fetch([HELLO])


def test_verify_replaces_a_flipped_byte_and_names_it(server: FaultServer, store: Store) -> None:
    said = io.StringIO()
    fetcher = make_fetcher(store, server.url + "/debian", said=said)
    fetcher.fetch([HELLO])
    path = store.path_of(HELLO)
    path.chmod(0o644)
    path.write_bytes(bytes([BYTES[0] ^ 1]) + BYTES[1:])
    assert fetcher.fetch([HELLO]).fetched_files == 0, "without verify only sizes are looked at"
    report = fetcher.fetch([HELLO], verify=True)
    assert report.replaced == (HELLO.file,)
    assert report.fetched_files == 1
    assert path.read_bytes() == BYTES
    assert HELLO.file in said.getvalue()
    assert str(path) in said.getvalue()


def test_too_little_room_is_known_before_the_first_byte(server: FaultServer, store: Store) -> None:
    huge = replace(HELLO, size_bytes=1 << 60)
    with pytest.raises(DiskError, match=f"{1 << 60} bytes are needed"):
        make_fetcher(store, server.url + "/debian").fetch([huge])
    assert server.requests == []


def test_unknown_source_and_own_wheel_say_what_to_do(store: Store) -> None:
    own = make_artifact(b"own", "rockiln_kernels-0.1-py3-none-any.whl", source="own")
    with pytest.raises(FetchError, match="not in the store") as caught:
        make_fetcher(store).fetch([own])
    assert "rockiln lock" in caught.value.hint
    with pytest.raises(FetchError, match="no such source"):
        make_fetcher(store).fetch([replace(HELLO, source="elsewhere")])


def test_two_fetchers_of_one_file_download_it_once(server: FaultServer, store: Store) -> None:
    go = threading.Event()
    server.script[PATH] = [Fault(sent_fraction=0.5, waits_for=go)]
    fetcher = make_fetcher(store, server.url + "/debian", patience=PlayTime().patience(stall_s=20))
    threads = [threading.Thread(target=fetcher.fetch, args=([HELLO],)) for _ in range(3)]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(20)
    assert store.path_of(HELLO).read_bytes() == BYTES
    assert len(server.requests) == 1


def test_require_held_names_what_is_missing(store: Store) -> None:
    with pytest.raises(FetchError, match=r"1 of 1 files are not in the store: hello_2\.10-3_amd64\.deb"):
        require_held([HELLO], store)
    store.adopt_chunks(HELLO, [BYTES], origin="test")
    assert require_held([HELLO], store).held_files == 1
