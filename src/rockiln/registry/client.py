"""Reference → RegistryClient: a Repository over HTTP.

No maintained client in Python resumes uploads, mounts blobs, honours Retry-After, knows referrers and compares what
was stored with what was sent (docs/publish.md), so this is a thin one over httpx; Docker's own SDK reads credentials.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from rockiln.disk import disk_faults_named
from rockiln.download.patience import Patience
from rockiln.errors import CredentialsError, RegistryError
from rockiln.media_types import INDEX_TYPE, MANIFEST_TYPE
from rockiln.readers import digest_of
from rockiln.registry.answers import MissingFault, PassingFault, require_status
from rockiln.registry.protocol import BlobSource, Descriptor, Manifest, Tell, ignore_bytes
from rockiln.registry.reference import Reference
from rockiln.registry.referrers import fall_back, list_fallback, read_referrers
from rockiln.registry.session import Access, Session
from rockiln.registry.tokens import Scopes
from rockiln.registry.upload_notes import NoNotes
from rockiln.registry.uploads import Uploader, UploadNotes

if TYPE_CHECKING:
    import httpx

MAX_PAGES = 1000
"""Of a list."""
SETTLE_S = 0.5
"""How long, more or less, until another writer of the same list is done."""
DOCKER_TYPES = (
    "application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json",
)  # fmt: skip
ACCEPTED = ", ".join((INDEX_TYPE, MANIFEST_TYPE, *DOCKER_TYPES))
_PROXY_HINT = "is a proxy in between? No tag was moved"


@contextmanager
def open_repository(
    reference: Reference, environ: Mapping[str, str], *, access: Access | None = None, patience: Patience | None = None,
    notes: UploadNotes | None = None,
) -> Iterator[RegistryClient]:  # fmt: skip
    """A client for the repository that `reference` names; nothing is asked yet."""
    session = Session(reference, environ, access or Access(), patience or Patience())
    try:
        yield RegistryClient(session, reference.repository, notes or NoNotes())
    finally:
        session.close()


class RegistryClient:
    """See rockiln.registry.protocol.Repository, which says what each method does."""

    def __init__(self, session: Session, repository: str, notes: UploadNotes) -> None:
        self._session, self._repository, self._notes = session, repository, notes
        self._pull: Scopes = (f"repository:{repository}:pull",)
        self._push: Scopes = (f"repository:{repository}:pull,push",)

    @property
    def name(self) -> str:
        return f"{self._session.registry}/{self._repository}"

    def sibling(self, repository: str) -> RegistryClient:
        return RegistryClient(self._session, repository, self._notes)

    def log_in(self, *, to_push: bool) -> None:
        """Ask for nothing, once, so that many threads after it know how to. Raises CredentialsError.

        Who is going to push reads with the same token: one is enough, and some servers hand out none for reading a
        repository that is not there yet.
        """
        self._pull = self._push if to_push else self._pull
        self._find("GET", "/v2/", self._pull)

    def has_blob(self, digest: str) -> bool:
        return self._find("HEAD", self._blob_url(digest), self._pull) is not None

    def read_blob(self, digest: str) -> bytes:
        response = self._find("GET", self._blob_url(digest), self._pull)
        if response is None:
            raise self._missing(digest)
        require_status(response, 200)
        self._require_digest(response.content, digest)
        return response.content

    def save_blob(self, digest: str, path: Path, tell: Tell = ignore_bytes) -> None:
        partial_path = path.with_name(f".{path.name}.partial")
        with disk_faults_named(path):
            try:
                with partial_path.open("w+b") as file:
                    self._session.insist(f"{self.name}@{digest}", lambda: self._go_on(digest, file, tell))
                partial_path.replace(path)
            except MissingFault as fault:
                raise self._missing(digest) from fault
            finally:
                partial_path.unlink(missing_ok=True)

    def _go_on(self, digest: str, file: BufferedRandom, tell: Tell) -> None:
        """Fetch what the file does not hold yet; start anew where the registry sends the whole, or it was damaged."""
        known = file.seek(0, 2)
        headers = {"Range": f"bytes={known}-"} if known else {}
        url = self._blob_url(digest)
        with self._session.stream("GET", url, self._pull, headers=headers, is_large=True) as response:
            if response.status_code != 206:
                require_status(response, 200)
                file.truncate(file.seek(0))
                tell(-known)
            for piece in response.iter_raw():
                file.write(piece)
                tell(len(piece))
        file.flush()
        file.seek(0)
        if f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" != digest:
            tell(-file.seek(0, 2))
            file.truncate(file.seek(0))
            raise PassingFault("the registry sends other bytes than the digest names")

    def push_blob(self, source: BlobSource, tell: Tell = ignore_bytes) -> None:
        Uploader(self._session, self._repository, self._push, self._notes).push(source, tell)

    def mount_blob(self, digest: str, from_repository: str) -> bool:
        query = urlencode({"mount": digest, "from": from_repository})
        scopes = (*self._push, f"repository:{from_repository}:pull")
        try:
            response = self._find("POST", f"/v2/{self._repository}/blobs/uploads/?{query}", scopes)
        except CredentialsError:  # it may not be read from there; whether it may be pushed here shows next
            return False
        return response is not None and response.status_code == 201

    def find_digest(self, version: str) -> str:
        response = self._find("HEAD", self._manifest_url(version), self._pull)
        if response is None:
            return ""
        require_status(response, 200)
        digest = response.headers.get("docker-content-digest", "")
        if digest.startswith("sha256:"):
            return str(digest)
        manifest = self.read_manifest(version)  # the header is optional
        return manifest.digest if manifest else ""

    def read_manifest(self, version: str) -> Manifest | None:
        response = self._find("GET", self._manifest_url(version), self._pull)
        if response is None:
            return None
        require_status(response, 200)
        if version.startswith("sha256:"):
            self._require_digest(response.content, version)
        media_type = response.headers.get("content-type", MANIFEST_TYPE).partition(";")[0].strip()
        return Manifest(content=response.content, media_type=media_type)

    def push_manifest(self, manifest: Manifest, tag: str = "") -> str:
        headers = {"Content-Type": manifest.media_type}
        url = self._manifest_url(tag or manifest.digest)
        response = self._find("PUT", url, self._push, headers=headers, body=manifest.content)
        if response is None:
            raise RegistryError(f"{self.name}: {url} answers 404", hint="is this an OCI registry?")
        require_status(response, 201)
        echoed = response.headers.get("docker-content-digest", manifest.digest)
        stored = self.find_digest(tag or manifest.digest)
        for found in (echoed, stored):
            if found != manifest.digest:
                message = f"{self.name}: the manifest {manifest.digest} was sent, the registry has {found or 'nothing'}"
                raise RegistryError(message, hint=_PROXY_HINT)
        subject = manifest.document.get("subject")
        if isinstance(subject, dict) and response.headers.get("oci-subject") != subject.get("digest"):
            fall_back(self, manifest, str(subject.get("digest")), self._settle)
        return manifest.digest

    def _settle(self) -> None:
        patience = self._session.patience
        patience.sleep(SETTLE_S * (0.5 + patience.jitter()))

    def list_tags(self) -> tuple[str, ...]:
        tags: list[str] = []
        url = f"/v2/{self._repository}/tags/list?n=1000"
        for _ in range(MAX_PAGES):
            response = self._find("GET", url, self._pull) if url else None
            if response is None:
                break
            found = _read_object(require_status(response, 200)).get("tags") or []
            if not isinstance(found, list):
                raise RegistryError(f"{self.name}: its list of tags is none", hint="is this an OCI registry?")
            tags += map(str, found)
            url = _find_next(response)
        return tuple(sorted(set(tags)))

    def list_referrers(self, digest: str, artifact_type: str = "") -> tuple[Descriptor, ...]:
        response = self._find("GET", f"/v2/{self._repository}/referrers/{digest}", self._pull)
        if response is None or response.status_code != 200:
            found = list_fallback(self, digest)
        else:
            found = read_referrers(_read_object(response))
            for _ in range(MAX_PAGES):
                url = _find_next(response)
                response = self._find("GET", url, self._pull) if url else None
                if response is None:
                    break
                found += read_referrers(_read_object(require_status(response, 200)))
        return tuple(item for item in found if artifact_type in {"", item.artifact_type})

    def _find(
        self, method: str, url: str, scopes: Scopes, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> httpx.Response | None:
        accepted = {"Accept": ACCEPTED if "/manifests/" in url else "*/*"}
        what = f"{method} {self.name}"
        all_headers = {**accepted, **(headers or {})}
        return self._session.find(
            what, lambda: self._session.ask(method, url, scopes, headers=all_headers, body=body)
        )  # fmt: skip

    def _blob_url(self, digest: str) -> str:
        return f"/v2/{self._repository}/blobs/{digest}"

    def _manifest_url(self, version: str) -> str:
        return f"/v2/{self._repository}/manifests/{version}"

    def _missing(self, digest: str) -> RegistryError:
        return RegistryError(f"{self.name} has no {digest}", hint="was it pushed to this repository?")

    def _require_digest(self, content: bytes, digest: str) -> None:
        found = digest_of(content)
        if found != digest:
            raise RegistryError(f"{self.name}: asked for {digest}, got {found}", hint=_PROXY_HINT)


def _read_object(response: httpx.Response) -> dict[str, Any]:
    try:
        value = response.json()
    except ValueError as fault:
        raise RegistryError(f"{response.request.url}: no JSON: {fault}", hint="is this an OCI registry?") from fault
    if not isinstance(value, dict):
        raise RegistryError(f"{response.request.url}: no JSON object", hint="is this an OCI registry?")
    return value


def _find_next(response: httpx.Response) -> str:
    """The next page of a list, below the registry: RFC 8288's Link."""
    import httpx

    target = response.links.get("next", {}).get("url", "")
    try:
        return response.request.url.join(target).raw_path.decode() if target else ""
    except httpx.InvalidURL:
        return ""
