"""A published image's own words, read from a registry that listens on this host."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from rockiln.errors import ImageError, RegistryError, UsageError
from rockiln.sizes.annotation import ANNOTATION
from rockiln.sizes.of_registry import measure_published

CONFIG = json.dumps({"rootfs": {"diff_ids": ["sha256:d1"]}}).encode()
SAID = {"schema": 1, "packages": {"wheel:jax": ["0.6.2", 70, 3]}, "archs": {"host": 70}, "kinds": {"python": 70}}


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


MANIFEST = json.dumps({
    "config": {"digest": digest_of(CONFIG)},
    "layers": [{"digest": "sha256:l1", "size": 40}],
    "annotations": {ANNOTATION: json.dumps(SAID)},
}).encode()  # fmt: skip
INDEX = json.dumps({
    "manifests": [
        {"digest": "sha256:other", "platform": {"os": "linux", "architecture": "arm64"}},
        {"digest": digest_of(MANIFEST), "platform": {"os": "linux", "architecture": "amd64"}},
    ]
}).encode()  # fmt: skip


class Registry(BaseHTTPRequestHandler):
    """Hands out a token to anybody, and then what was asked for."""

    files: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:  # the name that http.server calls
        self.asked.append(self.path)
        host = self.headers["Host"]
        if self.path.startswith("/token?"):
            self._reply(200, json.dumps({"token": "anyone"}).encode())
        elif self.headers.get("Authorization") != "Bearer anyone":
            challenge = f'Bearer realm="http://{host}/token",service="here",scope="repository:jax:pull"'
            self._reply(401, b"{}", challenge)
        else:
            content = self.files.get(self.path)
            self._reply(200 if content is not None else 404, content or b"{}")

    def _reply(self, status: int, content: bytes, challenge: str = "") -> None:
        self.send_response(status)
        if challenge:
            self.send_header("WWW-Authenticate", challenge)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Registry.asked.clear()
    Registry.files = {
        "/v2/user/jax/manifests/1.0": INDEX,
        f"/v2/user/jax/manifests/{digest_of(MANIFEST)}": MANIFEST,
        f"/v2/user/jax/blobs/{digest_of(CONFIG)}": CONFIG,
    }
    yield f"127.0.0.1:{server.server_port}/user/jax"
    server.shutdown()
    server.server_close()
    thread.join()


def test_index_manifest_and_config_tell_the_sizes(registry: str) -> None:
    sizes = measure_published(f"{registry}:1.0", {})
    assert (sizes.compressed_bytes, sizes.unpacked_bytes) == (40, 70)
    assert sizes.packages["wheel:jax"].version == "0.6.2"
    assert (sizes.layers[0].digest, sizes.layers[0].diff_id) == ("sha256:l1", "sha256:d1")
    assert sizes.digest == digest_of(MANIFEST)
    assert sum(path.startswith("/token") for path in Registry.asked) == 1
    assert not [path for path in Registry.asked if "sha256:l1" in path]


def test_image_is_named_by_its_digest_too(registry: str) -> None:
    assert measure_published(f"{registry}@{digest_of(MANIFEST)}", {}).unpacked_bytes == 70


def test_missing_image_is_named(registry: str) -> None:
    with pytest.raises(RegistryError, match=r"has no 2\.0"):
        measure_published(f"{registry}:2.0", {})


def test_bytes_that_are_not_what_was_named_are_refused(registry: str) -> None:
    Registry.files[f"/v2/user/jax/blobs/{digest_of(CONFIG)}"] = b'{"rootfs": {"diff_ids": ["sha256:x"]}}'
    with pytest.raises(RegistryError, match=r"asked for sha256:.*, got sha256:"):
        measure_published(f"{registry}:1.0", {})


@pytest.mark.parametrize(
    "manifest",
    [
        '{"manifests": 5}', '{"manifests": [5]}', '{"manifests": [{"platform": 5}]}', '{"config": 5}', "[]", "{}",
        '{"manifests": [{"platform": {"os": "linux", "architecture": "amd64"}, "digest": "a\\nb"}]}',
        '{"config": {"digest": 5}}', '{"layers": [{"digest": "sha256:1", "size": Infinity}]}', '{"layers": 5}',
        '{"layers": [], "annotations": [1]}', "[" * 100_000,
    ],
)  # fmt: skip
def test_broken_manifest_is_refused_in_words(registry: str, manifest: str) -> None:
    Registry.files["/v2/user/jax/manifests/1.0"] = manifest.encode()
    with pytest.raises((ImageError, RegistryError, UsageError)):
        measure_published(f"{registry}:1.0", {})
