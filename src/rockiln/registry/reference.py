"""Name of an image in a registry → Reference: HOST/NAME[:TAG][@sha256:…], taken apart and checked."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rockiln.console import printable
from rockiln.errors import UsageError

DOCKER_HUB = "docker.io"
_HUB_HOST = "registry-1.docker.io"
_HOST = re.compile(r"(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:)|\[[0-9a-fA-F:]+\])(:\d+)?")
_LOOPBACK = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?")
_REPOSITORY = re.compile(r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*")
"""https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests, as are the next two."""
_TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_EXAMPLE = "such as ghcr.io/user/jax:latest or ghcr.io/user/jax@sha256:…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Where an image is. Tag and digest may both be given, or neither; the digest then counts."""

    registry: str
    """HOST or HOST:PORT, as people write it."""
    repository: str
    tag: str = ""
    digest: str = ""
    """sha256:… or ""."""

    @property
    def name(self) -> str:
        """HOST/NAME."""
        return f"{self.registry}/{self.repository}"

    @property
    def version(self) -> str:
        """What to ask for: the digest, else the tag, else "latest"."""
        return self.digest or self.tag or "latest"

    @property
    def api_host(self) -> str:
        """The host that answers: Docker Hub's API has another name."""
        return _HUB_HOST if self.registry == DOCKER_HUB else self.registry

    @property
    def is_loopback(self) -> bool:
        """Whether the registry is this machine, where http is as good as https."""
        return bool(_LOOPBACK.fullmatch(self.registry))

    def __str__(self) -> str:
        return self.name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")

    def at(self, digest: str) -> Reference:
        """The same repository's image of this digest."""
        return replace(self, tag="", digest=digest)


def parse_reference(name: str) -> Reference:
    """"HOST/NAME", with :TAG, @sha256:… or both. The host is not optional: no registry is meant by leaving it out.

    Raises UsageError.
    """
    rest, at, digest = name.partition("@")
    registry, slash, path = rest.partition("/")
    repository, colon, tag = path.partition(":")
    shown = printable(repr(name))
    if not slash or not repository or not _HOST.fullmatch(registry):
        raise UsageError(f"{shown} names no registry", hint=f"write HOST/NAME:TAG, {_EXAMPLE}")
    if not _REPOSITORY.fullmatch(repository):
        hint = "small letters, digits, and . _ - / between them"
        raise UsageError(f"{shown}: {printable(repository)} is no repository's name", hint=hint)
    if colon and not _TAG.fullmatch(tag):
        raise UsageError(f"{shown}: {printable(tag)} is no tag", hint="at most 128 letters, digits, . _ and -")
    if at and not _DIGEST.fullmatch(digest):
        raise UsageError(f"{shown}: {printable(digest)} is no digest", hint="sha256: and 64 digits 0-9a-f")
    return Reference(registry=registry, repository=repository, tag=tag, digest=digest)


def require_digest(name: str) -> Reference:
    """The same for verbs that work on exactly one image: a tag may have moved by the time they look."""
    reference = parse_reference(name)
    if not reference.digest:
        raise UsageError(f"{reference} names no digest", hint="HOST/NAME@sha256:…, as rockiln push prints it")
    return reference


def is_reference(word: str) -> bool:
    """Whether a word of the command line means an image in a registry and not a target: ids hold no /."""
    return "/" in word
