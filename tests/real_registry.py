"""Debian's docker-registry as a process of the test: on a free port, over a folder, with the auth and TLS asked for."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PROGRAM = "docker-registry"


def find_free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


@contextmanager
def run_registry(
    folder: Path, *, auth: Mapping[str, Any] | None = None, tls: Mapping[str, str] | None = None
) -> Iterator[str]:
    """→ HOST:PORT. Its data and log lie in `folder`."""
    program = shutil.which(PROGRAM)
    assert program, "apt-get install docker-registry"
    port = find_free_port()
    settings: dict[str, Any] = {
        "version": "0.1",
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": f"127.0.0.1:{port}", "secret": "of a test", **({"tls": dict(tls)} if tls else {})},
    }
    settings |= {"auth": dict(auth)} if auth else {}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yml").write_text(json.dumps(settings))  # JSON is YAML
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, "serve", folder / "config.yml"], stdout=log, stderr=log)
    try:
        _wait_until_up(process, port, folder / "log")
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_up(process: subprocess.Popen[bytes], port: int, log_path: Path) -> None:
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None, log_path.read_text()
        time.sleep(0.05)
    raise AssertionError(log_path.read_text())
