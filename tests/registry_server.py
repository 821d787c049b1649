"""A registry in memory, over HTTP, as small as the distribution specification allows, with whatever auth a test wants.

tests/integration/test_registry_contract.py runs the same contract over this one and over Docker's registry.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from loopback_server import LoopbackServer

_PATH = re.compile(r"/v2/(?P<name>.+)/(?P<kind>blobs/uploads|blobs|manifests|tags|referrers)/?(?P<rest>[^/]*)")


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass(kw_only=True)
class Repo:
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Asked:
    method: str
    path: str
    body_bytes: int
    authorization: str


@dataclass(kw_only=True)
class Gate:
    """Who is let in: "", "basic" or "bearer". Tokens live for `lifetime` requests, and name what they allow."""

    scheme: str = ""
    user: str = "somebody"
    password: str = "right"  # noqa: S105  # of a test
    lifetime: int = 1_000_000
    may_push: bool = True
    tokens: dict[str, int] = field(default_factory=dict)
    scopes: dict[str, list[str]] = field(default_factory=dict)


class RegistryServer(LoopbackServer):
    """`repos` by name; `asked` in order; `before` may answer a request itself, by returning True."""

    def __init__(self, *, has_referrers: bool = False, gate: Gate | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[str, Repo] = {}
        self.uploads: dict[str, bytearray] = {}
        self.asked: list[Asked] = []
        self.has_referrers, self.gate = has_referrers, gate or Gate()
        self.before: Callable[[_Handler], bool] = lambda _handler: False
        self.lock = threading.RLock()

    def repo(self, name: str) -> Repo:
        with self.lock:
            return self.repos.setdefault(name, Repo())

    def count(self, method: str, part: str = "") -> int:
        return sum(item.method == method and part in item.path for item in self.asked)


class _Handler(BaseHTTPRequestHandler):
    server: RegistryServer
    protocol_version = "HTTP/1.1"
    body: bytes

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        self.body = self.rfile.read(length)
        self.server.asked.append(
            Asked(
                method=self.command, path=self.path, body_bytes=len(self.body),
                authorization=self.headers.get("Authorization", ""),
            )
        )  # fmt: skip
        if len(self.body) < length:
            self.close_connection = True
            self._keep_part()
        elif self.path.startswith("/token"):
            self._hand_out_token()
        elif not self.server.before(self) and self._is_let_in():
            self._route()

    do_HEAD = do_POST = do_PATCH = do_PUT = do_GET  # noqa: N815  # names that http.server calls

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status: int, code: str, **headers: str) -> None:
        body = json.dumps({"errors": [{"code": code, "message": code.lower().replace("_", " ")}]}).encode()
        self.reply(status, body, **headers)

    def _keep_part(self) -> None:
        """What came of a cut chunk stays, as the specification's resumed uploads want it."""
        upload = self.server.uploads.get(urlsplit(self.path).path.rpartition("/")[2])
        if upload is not None and self.command == "PATCH":
            upload += self.body

    def _route(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path == "/v2/":
            self.reply(200, b"{}")
            return
        found = _PATH.fullmatch(url.path)
        if not found:
            self.refuse(404, "NAME_UNKNOWN")
            return
        act = {
            "blobs/uploads": self._upload, "blobs": self._blob, "manifests": self._manifest, "tags": self._tags,
            "referrers": self._referrers,
        }[found["kind"]]  # fmt: skip
        with self.server.lock:
            act(found["name"], found["rest"], query)

    def _blob(self, name: str, digest: str, _query: dict[str, str]) -> None:
        content = self.server.repo(name).blobs.get(digest)
        if content is None:
            self.refuse(404, "BLOB_UNKNOWN")
        else:
            self.reply(200, content, Docker_Content_Digest=digest)

    def _upload(self, name: str, upload_id: str, query: dict[str, str]) -> None:
        if self.command == "POST":
            self._start(name, query)
            return
        upload = self.server.uploads.get(upload_id)
        if upload is None:
            self.refuse(404, "BLOB_UPLOAD_UNKNOWN")
        elif self.command == "GET":
            self._tell_upload(204, name, upload_id)
        elif (start := self.headers.get("Content-Range", "").partition("-")[0]) and int(start) != len(upload):
            self.refuse(416, "RANGE_INVALID")
        else:
            upload += self.body
            if self.command == "PATCH":
                self._tell_upload(202, name, upload_id)
            else:
                self._commit(name, upload_id, query["digest"])

    def _start(self, name: str, query: dict[str, str]) -> None:
        mounted = self.server.repo(query.get("from", name)).blobs.get(query.get("mount", ""))
        if mounted is not None:
            self.server.repo(name).blobs[query["mount"]] = mounted
            self.reply(201, Location=f"/v2/{name}/blobs/{query['mount']}")
            return
        upload_id = hashlib.sha256(str(time.monotonic_ns()).encode()).hexdigest()[:16]
        self.server.uploads[upload_id] = bytearray()
        self._tell_upload(202, name, upload_id)

    def _tell_upload(self, status: int, name: str, upload_id: str) -> None:
        location = f"/v2/{name}/blobs/uploads/{upload_id}?state=1"
        last = max(len(self.server.uploads[upload_id]) - 1, 0)
        self.reply(status, Location=location, Range=f"0-{last}")

    def _commit(self, name: str, upload_id: str, digest: str) -> None:
        content = bytes(self.server.uploads.pop(upload_id))
        if digest_of(content) != digest:
            self.refuse(400, "DIGEST_INVALID")
            return
        self.server.repo(name).blobs[digest] = content
        self.reply(201, Location=f"/v2/{name}/blobs/{digest}", Docker_Content_Digest=digest)

    def _manifest(self, name: str, version: str, _query: dict[str, str]) -> None:
        repo = self.server.repo(name)
        if self.command == "PUT":
            self._put_manifest(repo, version)
            return
        digest = repo.tags.get(version, version)
        if digest not in repo.manifests:
            self.refuse(404, "MANIFEST_UNKNOWN")
            return
        content, media_type = repo.manifests[digest]
        self.reply(200, content, Docker_Content_Digest=digest, Content_Type=media_type)

    def _put_manifest(self, repo: Repo, version: str) -> None:
        document, digest = json.loads(self.body), digest_of(self.body)
        named = [item["digest"] for item in (*document.get("layers", ()), document.get("config")) if item]
        lacking = [item for item in named if item not in repo.blobs]
        lacking += [item["digest"] for item in document.get("manifests", ()) if item["digest"] not in repo.manifests]
        if lacking:
            self.refuse(404 if document.get("manifests") else 400, "MANIFEST_BLOB_UNKNOWN")
        elif version.startswith("sha256:") and version != digest:
            self.refuse(400, "DIGEST_INVALID")
        else:
            repo.manifests[digest] = (self.body, self.headers["Content-Type"])
            if not version.startswith("sha256:"):
                repo.tags[version] = digest
            subject = document.get("subject", {}).get("digest", "")
            noted = {"OCI_Subject": subject} if subject and self.server.has_referrers else {}
            self.reply(201, Docker_Content_Digest=digest, Location="/", **noted)

    def _tags(self, name: str, _rest: str, query: dict[str, str]) -> None:
        if name not in self.server.repos:
            self.refuse(404, "NAME_UNKNOWN")
            return
        tags = [tag for tag in sorted(self.server.repo(name).tags) if tag > query.get("last", "")]
        page = tags[: min(int(query.get("n", "1000")), 3)]  # small pages: clients have to follow links
        more = len(page) < len(tags)
        link = {"Link": f'</v2/{name}/tags/list?n=3&last={page[-1]}>; rel="next"'} if more else {}
        self.reply(200, json.dumps({"name": name, "tags": page}).encode(), **link)

    def _referrers(self, name: str, digest: str, _query: dict[str, str]) -> None:
        if not self.server.has_referrers:
            self.refuse(404, "NAME_UNKNOWN")
            return
        found = []
        for own, (content, media_type) in sorted(self.server.repo(name).manifests.items()):
            document = json.loads(content)
            if document.get("subject", {}).get("digest") == digest:
                kind = document.get("artifactType", "")
                entry = {"mediaType": media_type, "digest": own, "size": len(content), "artifactType": kind}
                found.append({**entry, "annotations": document.get("annotations", {})})
        body = json.dumps({"schemaVersion": 2, "manifests": found}).encode()
        self.reply(200, body, Content_Type="application/vnd.oci.image.index.v1+json")

    def _is_basic(self) -> bool:
        gate = self.server.gate
        wanted = base64.b64encode(f"{gate.user}:{gate.password}".encode()).decode()
        return self.headers.get("Authorization") == f"Basic {wanted}"

    def _is_let_in(self) -> bool:
        gate, host = self.server.gate, self.headers["Host"]
        if not gate.scheme or (gate.scheme == "basic" and self._is_basic()):
            return True
        if gate.scheme == "basic":
            self.refuse(401, "UNAUTHORIZED", WWW_Authenticate='Basic realm="here"')
            return False
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        with self.server.lock:
            left = gate.tokens.get(token, 0)
            gate.tokens[token] = left - 1
        action = "pull" if self.command in {"GET", "HEAD"} and "/uploads/" not in self.path else "push"
        name = found["name"] if (found := _PATH.fullmatch(urlsplit(self.path).path)) else ""
        if left > 0 and (not name or f"{name}:{action}" in gate.scopes[token]):
            return True
        said = f'Bearer realm="http://{host}/token",service="registry",scope="repository:{name}:{action}"'
        self.refuse(401, "UNAUTHORIZED", WWW_Authenticate=said)
        return False

    def _hand_out_token(self) -> None:
        gate = self.server.gate
        if not self._is_basic():
            self.refuse(401, "UNAUTHORIZED")
            return
        granted = []
        for scope in parse_qs(urlsplit(self.path).query).get("scope", ()):
            name, _, actions = scope.removeprefix("repository:").rpartition(":")
            granted += [f"{name}:{action}" for action in actions.split(",") if action == "pull" or gate.may_push]
        token = f"token-{len(gate.tokens)}"
        with self.server.lock:
            gate.tokens[token], gate.scopes[token] = gate.lifetime, granted
        self.reply(200, json.dumps({"token": token, "expires_in": 300}).encode())

    def log_message(self, *_: object) -> None:
        """Silent."""
