"""What the tests' HTTP servers share: a free port of 127.0.0.1, served by a thread for as long as a `with` lasts."""

from __future__ import annotations

import threading
from http.server import ThreadingHTTPServer
from typing import Self


class LoopbackServer(ThreadingHTTPServer):
    """A server on 127.0.0.1; give it the handler's class."""

    daemon_threads = True
    request_queue_size = 64

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is part of the play."""

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
