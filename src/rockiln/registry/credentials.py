"""Docker's config.json → the user name and password for a registry, from the file itself or a credential helper.

https://docs.docker.com/reference/cli/docker/login/: `docker login` writes what is read here. Never printed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rockiln.errors import CredentialsError
from rockiln.registry.reference import DOCKER_HUB

HUB_KEY = "https://index.docker.io/v1/"
"""Under which Docker keeps the credentials of Docker Hub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A user name with a password, or a token that a token server takes instead."""

    user: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    origin: str
    """Where they come from, for messages."""


def find_credentials(registry: str, environ: Mapping[str, str]) -> Credentials | None:
    """What Docker's config says of the registry; None where it says nothing. Raises CredentialsError for a damaged
    file, and for a helper that is missing or fails."""
    from docker.auth import AuthConfig
    from docker.errors import DockerException

    path = _config_path(environ)
    if not path.is_file():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a missing helper: the exception says so too
        try:
            document = json.loads(path.read_bytes())
            if not isinstance(document, dict):
                raise TypeError("no JSON object")  # noqa: TRY301  # one message for all that may be amiss
            if not document:
                return None  # the SDK would look for another file
            config = AuthConfig.load_config(None, document, dict(environ))
            found = config.resolve_authconfig(HUB_KEY if registry == DOCKER_HUB else registry)
            helper = config.get_credential_store(registry)
        except (OSError, ValueError, TypeError, AttributeError, DockerException) as fault:
            hint = "is the file whole, and the helper docker-credential-… installed? `docker login` writes it anew"
            raise CredentialsError(f"{path}: no credentials for {registry}: {fault}", hint=hint) from fault
    return _read_entry(found, f"docker-credential-{helper}" if helper else str(path))


def _config_path(environ: Mapping[str, str]) -> Path:
    folder = environ.get("DOCKER_CONFIG") or str(Path(environ.get("HOME") or "/") / ".docker")
    return Path(folder) / "config.json"


def _read_entry(entry: Mapping[str, str] | None, origin: str) -> Credentials | None:
    """Entries of the file and of helpers differ in the first letters of their keys."""
    said = {key.lower(): value for key, value in (entry or {}).items() if value}
    if not said.get("username") and not said.get("identitytoken"):
        return None
    return Credentials(
        user=said.get("username", ""), password=said.get("password", ""),
        identity_token=said.get("identitytoken", ""), origin=origin,
    )  # fmt: skip
