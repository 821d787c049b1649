"""A folder → an HTTP server on 127.0.0.1, beside a proxy that writes down and refuses whatever else is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """All of the network that a test's programs may see."""

    url: str
    """Of the folder's server."""
    environ: Mapping[str, str]
    """Variables that send every other request to the refusing proxy."""
    refused: list[str]
    """What was asked for besides, in order."""


@contextmanager
def serve_folder(folder: Path) -> Iterator[Network]:
    """Serve `folder` until the block ends."""
    refused: list[str] = []
    with _serve(partial(_QuietHandler, directory=str(folder))) as url, _serve(_refusing_handler(refused)) as proxy:
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")
        environ = dict.fromkeys(names, proxy) | {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
        yield Network(url=url, environ=environ, refused=refused)


@contextmanager
def _serve(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the parent's name for it
        pass


def _refusing_handler(refused: list[str]) -> type[BaseHTTPRequestHandler]:
    class Refuse(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            refused.append(self.path)
            self.send_error(403, "no network in this test")

        do_HEAD = do_CONNECT = do_POST = do_GET  # noqa: N815  # names that http.server looks up

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the parent's name for it
            pass

    return Refuse
