"""Registries that are read-only, silent, in no hurry, in a circle, or speak https: said in words that are true."""

from __future__ import annotations

import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from loopback_server import LoopbackServer
from pushed_layout import HASTY, make_layout, push
from registry_server import RegistryServer
from rockiln.errors import CredentialsError, RegistryError, RockilnError
from rockiln.registry import session
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference
from rockiln.registry.session import Access


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer(has_referrers=True) as server:
        yield server


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815  # a name that http.server calls

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def tls_host(tmp_path: Path) -> Iterator[str]:
    key, pem = tmp_path / "key.pem", tmp_path / "ca.pem"
    words = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=here -keyout {key} -out {pem}".split()
    subprocess.run([*words, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    server = LoopbackServer(("127.0.0.1", 0), _Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with server:
        yield server.host


@pytest.mark.parametrize("plain_http", [False, True])
def test_registry_of_this_machine_that_speaks_https_asks_for_its_ca(tls_host: str, plain_http: bool) -> None:
    access = Access(plain_http=plain_http)
    with (
        open_repository(parse_reference(f"{tls_host}/a/b"), {}, patience=HASTY, access=access) as repository,
        pytest.raises(RegistryError, match=f"{tls_host} speaks https, and was asked over http") as caught,
    ):
        repository.find_digest("latest")
    assert "--ca FILE" in caught.value.hint
    assert ("leave out --plain-http" in caught.value.hint) == plain_http


def test_registry_whose_ca_is_named_is_asked_over_https(tls_host: str, tmp_path: Path) -> None:
    access = Access(ca_path=tmp_path / "ca.pem")
    with open_repository(parse_reference(f"{tls_host}/a/b"), {}, patience=HASTY, access=access) as repository:
        repository.log_in(to_push=False)


@pytest.mark.parametrize(("status", "error"), [(405, RegistryError), (403, CredentialsError)])
@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
def test_registry_that_takes_no_uploads_says_why(
    server: RegistryServer, tmp_path: Path, status: int, error: type[RockilnError], kind: str
) -> None:
    said = "read-only until noon \x1b[31m" + "x" * 5000
    body = said.encode() if kind == "text/plain" else b'{"errors": [{"code": "UNSUPPORTED", "message": "until noon"}]}'

    def refuse(handler: Any) -> bool:
        is_upload = handler.command in {"POST", "PUT", "PATCH"}
        if is_upload:
            handler.reply(status, body, Content_Type=kind)
        return is_upload

    server.before = refuse
    with pytest.raises(error, match="the registry is read-only or refuses uploads") as caught:
        push(make_layout(tmp_path / "image", layers=1), f"{server.host}/a/b", {})
    assert "until noon" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 800
    assert "--" not in caught.value.hint  # smoke and promote push, too, and have fewer options


def test_wait_that_is_too_long_is_named(server: RegistryServer) -> None:
    def refuse(handler: Any) -> bool:
        handler.reply(429, Retry_After="86400")
        return True

    server.before = refuse
    with (
        open_repository(parse_reference(f"{server.host}/a/b"), {}, patience=HASTY) as repository,
        pytest.raises(RegistryError, match="asks to wait 86400 s, and rockiln waits at most") as caught,
    ):
        repository.find_digest("latest")
    assert "sent" not in caught.value.hint
    assert len(server.asked) == 1


def test_circle_of_redirects_is_not_asked_again(server: RegistryServer) -> None:
    def send_round(handler: Any) -> bool:
        handler.reply(307, Location=handler.path)
        return True

    server.before = send_round
    with (
        open_repository(parse_reference(f"{server.host}/a/b"), {}, patience=HASTY) as repository,
        pytest.raises(RegistryError, match="redirects for ever") as caught,
    ):
        repository.find_digest("latest")
    assert "name the registry itself" in caught.value.hint
    assert len(server.asked) < 30


def test_silent_registry_is_told_with_attempt_and_wait(
    server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SILENCE_S", 0.05)
    told: list[str] = []

    def keep_silent(_handler: Any) -> bool:
        time.sleep(0.5)
        return True

    server.before = keep_silent
    patience = replace(HASTY, stall_s=0.2, attempts=2, sleep=lambda _s: None)
    access = Access(tell=told.append)
    reference = parse_reference(f"{server.host}/a/b")
    with (
        open_repository(reference, {}, patience=patience, access=access) as repository,
        pytest.raises(RegistryError, match="asked 2 times"),
    ):
        repository.find_digest("latest")
    assert [text for text in told if "no answer for" in text and "waits for up to" in text]
    (again,) = [text for text in told if "attempt 2 of 2 in" in text]
    assert server.host in again
