"""Fetch in processes of its own: killed, doubled, on a full disk, behind a proxy, with a private CA."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_server import Fault, FaultServer, make_artifact, make_bytes
from fetching import make_fetcher

from rockiln.download.partial import part_bytes
from rockiln.errors import FetchError
from rockiln.store import Store

BYTES = make_bytes(1, 6_000_000)
HELLO = make_artifact(BYTES)
PATH = "/debian/" + HELLO.path
PROGRAM = Path(__file__).with_name("fetch_once.py")
UNIT_PATH = Path(__file__).parents[1] / "unit"
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        server.files[PATH] = BYTES
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def start_fetch(store: Store, url: str, *more: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    arguments = (str(store.path), url + "/debian", json.dumps(dataclasses.asdict(HELLO)), *more)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(UNIT_PATH), *sys.path])}
    return subprocess.Popen(
        [*before, sys.executable, str(PROGRAM), *arguments], env=environ, text=True, stdout=subprocess.PIPE
    )


def wait_for_part(store: Store, at_least: int) -> None:
    end_s = time.monotonic() + 30
    while part_bytes(HELLO, store) < at_least:
        assert time.monotonic() < end_s, "the download did not get that far"
        time.sleep(0.01)


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    assert process.wait(10) == -signal.SIGKILL
    if process.stdout:
        process.stdout.close()


def test_killed_download_is_continued_by_the_next_process(server: FaultServer, store: Store) -> None:
    server.script[PATH] = [Fault(sent_fraction=0.5, stalls=True)]
    process = start_fetch(store, server.url)
    wait_for_part(store, len(BYTES) // 2)
    kill(process)
    assert not store.holds(HELLO)
    make_fetcher(store, server.url + "/debian").fetch([HELLO])
    store.check(HELLO)
    assert server.requests[1].headers["Range"] == f"bytes={len(BYTES) // 2}-"


@pytest.mark.slow
def test_killed_again_and_again_it_still_arrives(server: FaultServer, store: Store) -> None:
    server.script[PATH] = [Fault(bytes_per_s=4_000_000)] * 20
    for step in range(1, 8):
        process = start_fetch(store, server.url)
        wait_for_part(store, step * 700_000)
        kill(process)
        assert not store.holds(HELLO)
    make_fetcher(store, server.url + "/debian").fetch([HELLO])
    store.check(HELLO)
    assert [path.name for path in store.path.rglob("*") if path.is_file()] == [HELLO.sha256]


def test_two_processes_download_one_file_once(server: FaultServer, store: Store) -> None:
    go = threading.Event()
    server.script[PATH] = [Fault(sent_fraction=0.5, waits_for=go)]
    processes = [start_fetch(store, server.url) for _ in range(2)]
    wait_for_part(store, len(BYTES) // 2)
    time.sleep(1)
    go.set()
    assert [process.communicate(timeout=30)[0] for process in processes] == ["held\n", "held\n"]
    store.check(HELLO)
    assert len(server.requests) == 1


@pytest.mark.userns
def test_disk_that_gets_full_is_named_and_nothing_is_left(server: FaultServer, tmp_path: Path) -> None:
    """A real ENOSPC on a small tmpfs, mounted where only the child sees it."""
    disk_path = tmp_path / "disk"
    disk_path.mkdir()
    store = Store(disk_path / "store")
    mount = f'mount -t tmpfs -o size=8m none "{disk_path}" && "$@"; find "{disk_path}" -type f | sed s/^/left:/'
    namespace = ("unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh")
    process = start_fetch(store, server.url, str(disk_path / "filler"), before=namespace)
    said = process.communicate(timeout=30)[0]
    assert said.startswith(f"DiskError {store.path_of(HELLO).parent}: the disk is full: 0 bytes are free, ")
    assert "bytes are needed" in said
    assert [line for line in said.splitlines() if line.startswith("left:")] == [f"left:{disk_path}/filler"]


def make_certificates(path: Path) -> Path:
    """A private CA and, by it, a server certificate for 127.0.0.1."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    ca = ("-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=rockiln test CA")
    ca_may = ("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    leaf = ("-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", "leaf.key", "-out", "leaf.pem", "-subj", "/CN=leaf")
    leaf_may = ("-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE")
    for command in ((*key, *ca, *ca_may), (*key, *leaf, *leaf_may)):
        subprocess.run(["openssl", "req", "-x509", *command], cwd=path, check=True, capture_output=True)
    return path / "ca.pem"


@pytest.fixture
def ca_path(tmp_path: Path) -> Path:
    if not shutil.which("openssl"):
        pytest.skip("no openssl program to make certificates with")
    return make_certificates(tmp_path)


@pytest.fixture
def tls_server(ca_path: Path) -> Iterator[FaultServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca_path.with_name("leaf.pem"), ca_path.with_name("leaf.key"))
    with FaultServer(tls=context) as server:
        server.files[PATH] = BYTES
        yield server


def test_private_ca_is_trusted_through_ssl_cert_file(tls_server: FaultServer, store: Store, ca_path: Path) -> None:
    environ = {"SSL_CERT_FILE": str(ca_path)}
    make_fetcher(store, tls_server.url + "/debian", environ=environ).fetch([HELLO])
    store.check(HELLO)


def test_private_ca_is_trusted_through_ssl_cert_dir(
    tls_server: FaultServer, store: Store, ca_path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "certs"
    folder.mkdir()
    shutil.copy(ca_path, folder)
    subprocess.run(["openssl", "rehash", str(folder)], check=True)
    make_fetcher(store, tls_server.url + "/debian", environ={"SSL_CERT_DIR": str(folder)}).fetch([HELLO])
    store.check(HELLO)


def test_unknown_ca_is_refused_at_once_with_the_variable_to_set(tls_server: FaultServer, store: Store) -> None:
    with pytest.raises(FetchError, match=r"not trusted.*SSL_CERT_FILE") as caught:
        make_fetcher(store, tls_server.url + "/debian").fetch([HELLO])
    assert "asked" not in caught.value.message
    assert tls_server.requests == []


def test_missing_ca_file_is_named(server: FaultServer, store: Store) -> None:
    with pytest.raises(FetchError, match=r"SSL_CERT_FILE=/nowhere/ca\.pem"):
        make_fetcher(store, server.url, environ={"SSL_CERT_FILE": "/nowhere/ca.pem"}).fetch([HELLO])


def test_http_proxy_is_asked_for_a_host_that_only_it_knows(
    server: FaultServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["http://archive.invalid" + PATH] = BYTES
    monkeypatch.setenv("http_proxy", server.url)
    make_fetcher(store, "http://archive.invalid/debian").fetch([HELLO])
    store.check(HELLO)


def test_no_proxy_goes_around_it(server: FaultServer, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    make_fetcher(store, server.url + "/debian").fetch([HELLO])
    store.check(HELLO)


class Tunnel(threading.Thread):
    """A CONNECT proxy for one connection, leading to `port` whatever host is asked for."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked = b""

    def run(self) -> None:
        client, _ = self._listener.accept()
        self._listener.close()
        with client, socket.create_connection(("127.0.0.1", self._port)) as server:
            self.asked = client.recv(65536)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=pump, args=(server, client), daemon=True)
            back.start()
            pump(client, server)
            back.join(10)


def pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while chunk := source.recv(65536):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return


def test_https_goes_through_a_connect_proxy_and_its_certificate_is_checked(
    tls_server: FaultServer, store: Store, ca_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tunnel = Tunnel(tls_server.server_port)
    tunnel.start()
    monkeypatch.setenv("https_proxy", tunnel.url)
    make_fetcher(store, tls_server.url + "/debian", environ={"SSL_CERT_FILE": str(ca_path)}).fetch([HELLO])
    store.check(HELLO)
    tunnel.join(10)
    assert tunnel.asked.startswith(b"CONNECT 127.0.0.1:")
