"""A proxy between a client and a registry that breaks what a test tells it to break."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

from loopback_server import LoopbackServer

STEP_BYTES = 1 << 16
HOP = {"connection", "transfer-encoding", "keep-alive"}


@dataclass(frozen=True, kw_only=True)
class Break:
    """What goes wrong with one request; as made, nothing does."""

    status: int = 0
    """Answered without asking the registry."""
    retry_after: str = ""
    cut_after: float = 1.0
    """Of the request's body: so much goes on to the registry, then both connections are closed."""
    loses_answer: bool = False
    """The registry does what it was asked, and nobody hears of it."""
    digest: str = ""
    """Echoed instead of the true one."""
    cuts_answer: bool = False
    """Half of the answer's body."""
    bytes_per_s: int = 0
    silent_s: float = 0
    """Before anything is done."""
    challenge: str = ""


Judge = Callable[[str, str, int], Break]
"""Method, path and number of the request (from 0) → what to break."""


class RegistryProxy(LoopbackServer):
    """Passes requests on to `upstream` (HOST:PORT), broken as `judge` says; `asked` is what came, in order."""

    def __init__(self, upstream: str, judge: Judge = lambda _method, _path, _number: Break()) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream, self.judge = upstream, judge
        self.asked: list[tuple[str, str]] = []
        self.lock = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    server: RegistryProxy
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        with self.server.lock:
            number = len(self.server.asked)
            self.server.asked.append((self.command, self.path))
        fault = self.server.judge(self.command, self.path, number)
        time.sleep(fault.silent_s)
        if fault.status:
            self._answer_at_once(fault)
        else:
            self._pass_on(fault)

    do_HEAD = do_POST = do_PATCH = do_PUT = do_GET  # noqa: N815  # names that http.server calls

    def _answer_at_once(self, fault: Break) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.send_response(fault.status)
        if fault.retry_after:
            self.send_header("Retry-After", fault.retry_after)
        if fault.challenge:
            self.send_header("WWW-Authenticate", fault.challenge)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _pass_on(self, fault: Break) -> None:
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=60)
        try:
            if self._send_on(upstream, fault):
                self._give_back(upstream.getresponse(), fault)
            else:
                self.close_connection = True
        finally:
            upstream.close()

    def _send_on(self, upstream: http.client.HTTPConnection, fault: Break) -> bool:
        """→ whether the whole request went through."""
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOP:
                upstream.putheader(name, value)
        upstream.endheaders()
        length = int(self.headers.get("Content-Length", "0"))
        end = int(length * fault.cut_after)
        sent = 0
        while sent < end and (piece := self.rfile.read(min(STEP_BYTES, end - sent))):
            upstream.send(piece)
            sent += len(piece)
            if fault.bytes_per_s:
                time.sleep(len(piece) / fault.bytes_per_s)
        return fault.cut_after == 1.0 and sent == length

    def _give_back(self, response: http.client.HTTPResponse, fault: Break) -> None:
        body = response.read()
        if fault.loses_answer:
            self.close_connection = True
            return
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() == "docker-content-digest" and fault.digest:
                self.send_header(name, fault.digest)
            elif name.lower() not in HOP:
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if fault.cuts_answer else body)
        self.close_connection = fault.cuts_answer

    def log_message(self, *_: object) -> None:
        """Silent."""
