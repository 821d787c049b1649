"""A registry's response → what it means: an error in words, or a fault that may pass if one asks again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rockiln.console import printable
from rockiln.errors import RegistryError

if TYPE_CHECKING:
    import httpx

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which asking again is worth it."""
SHOWN_CHARACTERS = 300
WRITING = frozenset({"POST", "PUT", "PATCH"})
REFUSING = frozenset({403, 405})
"""Docker's registry, where it is read-only, answers 405 to an upload."""
REFUSED = "the registry is read-only or refuses uploads"


class PassingFault(Exception):  # noqa: N818  # never seen by people: whoever retries turns it into a RegistryError
    """An answer that may be another one in a while, or no answer at all."""

    def __init__(self, reason: str, *, retry_after: str = "", is_unanswered: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.retry_after, self.is_unanswered = reason, retry_after, is_unanswered


class MissingFault(Exception):  # noqa: N818  # as above
    """404: who asked knows what that means."""


def require_answered(response: httpx.Response) -> httpx.Response:
    """The response itself unless it says: later (PassingFault), or not there (MissingFault)."""
    if response.status_code in PASSING:
        reason = f"the registry answers {describe(response)}"
        raise PassingFault(reason, retry_after=response.headers.get("retry-after", ""))
    if response.status_code == 404:
        raise MissingFault(describe(response))
    return response


def require_status(response: httpx.Response, *expected: int) -> httpx.Response:
    """The response itself. Raises RegistryError for any other status."""
    if response.status_code in expected:
        return response
    request = response.request
    asked = f"{request.method} {request.url.copy_with(query=None)}"
    if request.method in WRITING and response.status_code in REFUSING:
        hint = "a mirror or a registry in maintenance takes none: name another one"
        raise RegistryError(f"{asked}: {REFUSED}: {describe(response)}", hint=hint)
    raise RegistryError(f"{asked}: the registry answers {describe(response)}", hint=_advise(response.status_code))


def describe(response: httpx.Response) -> str:
    """Status and what the body says: https://github.com/opencontainers/distribution-spec (error codes)."""
    words = [f"{error.get('code', '')}: {error.get('message', '')}".strip(": ") for error in read_errors(response)]
    said = "; ".join(filter(None, words)) or _read_text(response)
    return printable(f"{response.status_code}" + (f" ({said[:SHOWN_CHARACTERS]})" if said else ""))


def _read_text(response: httpx.Response) -> str:
    """A body in plain words; a page for browsers says nothing to us."""
    if not response.headers.get("content-type", "").startswith("text/plain"):
        return ""
    try:
        return response.content[: 4 * SHOWN_CHARACTERS].decode("utf-8", "replace").strip()
    except RuntimeError:  # it is streamed
        return ""


def read_errors(response: httpx.Response) -> list[dict[str, object]]:
    """The list of errors in the body; empty where it holds none, or was not read."""
    try:
        errors = json.loads(response.content)["errors"]
    except (ValueError, KeyError, TypeError, RuntimeError, RecursionError):  # RuntimeError: a body that is streamed
        return []
    return [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []


def has_code(response: httpx.Response, code: str) -> bool:
    """Whether the body names this error code."""
    return any(error.get("code") == code for error in read_errors(response))


def _advise(status: int) -> str:
    if status in {301, 302, 307, 308}:
        return "it sends uploads elsewhere: name the registry by the host it redirects to"
    if status in {404, 405, 415}:
        return "is this an OCI registry (distribution specification 1.0 or newer)?"
    return "what the registry says is all that is known"
