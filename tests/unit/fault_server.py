"""A real HTTP server on 127.0.0.1 that serves files, with ranges, and misbehaves as its script says."""

from __future__ import annotations

import hashlib
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from loopback_server import LoopbackServer
from rockiln.artifact import Artifact

STEP_BYTES = 64 << 10


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One answer that is not the plain file."""

    status: int = 0
    """Answer with this status and no file; 0: send the file, but see below."""
    headers: Mapping[str, str] = field(default_factory=dict)
    sent_fraction: float = 1.0
    """Send this part of the body, claim all of it, and close."""
    is_chunked: bool = False
    """No Content-Length."""
    body: bytes | None = None
    """Send these bytes instead."""
    ignores_range: bool = False
    stalls: bool = False
    """After sent_fraction, send nothing until the server ends."""
    closes_at_once: bool = False
    """Not even a status line."""
    waits_for: threading.Event | None = None
    """After sent_fraction, wait for this, then send the rest."""
    bytes_per_s: int = 0
    """0: as fast as it goes."""


@dataclass(frozen=True, kw_only=True)
class Request:
    path: str
    headers: Mapping[str, str]


class FaultServer(LoopbackServer):
    """`files` by path; `script` by path: faults used up one a request, then the file is served as it should be."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.types: dict[str, str] = {}
        self.script: dict[str, list[Fault]] = {}
        self.requests: list[Request] = []
        self.refuses_head = False
        self.ended = threading.Event()
        self.scheme = "https" if tls else "http"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [request.path for request in self.requests]

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        super().__exit__()


class _Handler(BaseHTTPRequestHandler):
    server: FaultServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.requests.append(Request(path=self.path, headers=dict(self.headers)))
        faults = self.server.script.get(self.path, [])
        fault = faults.pop(0) if faults else Fault()
        content = self.server.files.get(self.path)
        if fault.closes_at_once:
            self.close_connection = True
        elif fault.status or content is None:
            self._refuse(fault.status or 404, fault.headers)
        else:
            self._send(content if fault.body is None else fault.body, fault)

    def do_HEAD(self) -> None:
        """Not among `requests`; no fault is used up."""
        content = None if self.server.refuses_head else self.server.files.get(self.path)
        self.send_response(501 if self.server.refuses_head else 404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()

    def _refuse(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, content: bytes, fault: Fault) -> None:
        etag = '"' + hashlib.sha256(content).hexdigest()[:16] + '"'
        first = 0 if fault.ignores_range else self._first_byte(etag)
        if first >= len(content) > 0:
            self._refuse(416, {})
            return
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.send_header("ETag", etag)
        self.send_header("Content-Type", self.server.types.get(self.path, "application/octet-stream"))
        for name, value in fault.headers.items():
            self.send_header(name, value)
        body = content[first:]
        if fault.is_chunked:
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self._send_body(body, fault)

    def _send_body(self, body: bytes, fault: Fault) -> None:
        middle = int(len(body) * fault.sent_fraction)
        if fault.bytes_per_s:
            for start in range(0, middle, STEP_BYTES):
                self.wfile.write(body[start : min(start + STEP_BYTES, middle)])
                time.sleep(STEP_BYTES / fault.bytes_per_s)
        else:
            self.wfile.write(body[:middle])
        self.wfile.flush()
        if fault.stalls:
            self.server.ended.wait(20)
        elif fault.waits_for:
            fault.waits_for.wait(20)
            self.wfile.write(body[middle:])
        if middle < len(body):
            self.close_connection = True

    def _first_byte(self, etag: str) -> int:
        wanted = self.headers.get("Range", "")
        if not wanted.startswith("bytes=") or self.headers.get("If-Range", etag) != etag:
            return 0
        return int(wanted.removeprefix("bytes=").partition("-")[0])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name in http.server)
        """Silent."""


def make_bytes(seed: int, size_bytes: int) -> bytes:
    """Bytes that do not compress, the same each time."""
    return hashlib.shake_128(str(seed).encode()).digest(size_bytes)


def make_artifact(
    content: bytes, path: str = "pool/main/h/hello/hello_2.10-3_amd64.deb", source: str = "debian"
) -> Artifact:
    """The artifact that these bytes are."""
    file = path.rpartition("/")[2]
    name, _, rest = file.replace("-", "_").partition("_")
    return Artifact(
        kind="wheel" if file.endswith(".whl") else "deb",
        name=name,
        version=rest.partition("_")[0],
        architecture="amd64",
        source=source,
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
    )
