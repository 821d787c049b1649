"""A reference such as ghcr.io/user/jax:tag → Sizes, from the manifest and config alone: some kilobytes, no layer.

https://github.com/opencontainers/distribution-spec/blob/main/spec.md; anonymous tokens as
https://distribution.github.io/distribution/spec/auth/token/ describes them. Only what anybody may read is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from rockiln.audit.foreign_json import take_object, take_objects, take_text, take_texts
from rockiln.errors import FetchError, UsageError
from rockiln.sizes.annotation import read_manifest
from rockiln.sizes.inventory import Sizes

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 60
MAX_BYTES = 8 << 20
"""Of a manifest or config; the specification asks for 4 MiB."""
INDEX_TYPES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFEST_TYPES = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
_LOCAL = re.compile(r"localhost|127\.[0-9.]+|\[::1\]")
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_HINT = "is it public? A private image: `skopeo copy docker://NAME oci:FOLDER`, then compare with FOLDER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The parts of a name that says where an image is."""

    registry: str
    repository: str
    version: str
    """A tag, or sha256:…."""

    @property
    def url(self) -> str:
        """Registries on this host speak http, as Docker has it."""
        host = self.registry.partition(":")[0] if not self.registry.startswith("[") else self.registry[:5]
        return f"{'http' if _LOCAL.fullmatch(host) else 'https'}://{self.registry}/v2/{self.repository}"


def parse_reference(name: str) -> Reference:
    """"host/path:tag" or "host/path@sha256:…"; the host is not optional: no registry is meant by leaving it out."""
    rest, at, digest = name.partition("@")
    registry, slash, path = rest.partition("/")
    repository, _, tag = path.partition(":")
    if not slash or not repository or not ({".", ":"} & set(registry) or registry == "localhost"):
        raise UsageError(f"{name!r} names no registry", hint="write HOST/NAME:TAG, such as ghcr.io/user/jax:latest")
    return Reference(registry=registry, repository=repository, version=digest if at else tag or "latest")


def measure_published(name: str) -> Sizes:
    """What the published image says of itself. Raises FetchError where it cannot be read."""
    import httpx

    reference = parse_reference(name)
    with httpx.Client(timeout=TIMEOUT_S, follow_redirects=True) as client:
        asking = _Asking(client, reference)
        manifest, digest = asking.read(f"manifests/{reference.version}")
        if "manifests" in manifest:
            manifest, digest = asking.read(f"manifests/{_choose(manifest, name)}")
        config_digest = take_text(take_object(manifest, "config", name), "digest", name)
        config = asking.read(f"blobs/{config_digest}")[0] if config_digest else {}
    return read_manifest(name, digest, manifest, take_texts(take_object(config, "rootfs", name), "diff_ids", name))


def _choose(index: Mapping[str, Any], name: str) -> str:
    for entry in take_objects(index, "manifests", name):
        platform = take_object(entry, "platform", name)
        if (platform.get("os"), platform.get("architecture")) == ("linux", "amd64"):
            return take_text(entry, "digest", name)
    raise UsageError(f"{name} has no image for linux/amd64", hint="name an image by its digest")


class _Asking:
    """Requests to one repository; the token that the registry hands out to anybody is asked for once."""

    def __init__(self, client: httpx.Client, reference: Reference) -> None:
        self._client, self._reference = client, reference
        self._headers = {"Accept": ", ".join((*INDEX_TYPES, *MANIFEST_TYPES, "*/*"))}

    def read(self, path: str) -> tuple[dict[str, Any], str]:
        """A JSON object and its digest; compared with the digest that the path names, if it names one."""
        import httpx

        url = f"{self._reference.url}/{path}"
        try:
            response = self._get(url)
            response.raise_for_status()
            content = response.content
            value = json.loads(content)
        except httpx.HTTPStatusError as fault:
            status = fault.response.status_code
            raise FetchError(f"{url}: the registry answers {status}", hint=_HINT) from fault
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as fault:
            raise FetchError(f"{url}: {fault}", hint=_HINT) from fault
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        named = path.rpartition("/")[2]
        if len(content) > MAX_BYTES or (named.startswith("sha256:") and named != digest) or not isinstance(value, dict):
            raise FetchError(f"{url}: not what its digest names", hint="is a proxy in between?")
        return value, digest

    def _get(self, url: str) -> httpx.Response:
        response = self._client.get(url, headers=self._headers)
        challenge = response.headers.get("www-authenticate", "")
        if response.status_code != 401 or not challenge.lower().startswith("bearer "):
            return response
        said = dict(_CHALLENGE.findall(challenge))
        query = urlencode({name: said[name] for name in ("service", "scope") if name in said})
        answer = self._client.get(f"{said.get('realm', '')}?{query}").raise_for_status().json()
        if not isinstance(answer, dict):
            raise FetchError(f"{url}: the registry hands out no token", hint=_HINT)
        self._headers["Authorization"] = f"Bearer {answer.get('token') or answer.get('access_token', '')}"
        return self._client.get(url, headers=self._headers)
