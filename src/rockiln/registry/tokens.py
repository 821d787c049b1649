"""Challenge + Credentials → the Authorization header of a request; tokens are fetched once a scope, and renewed.

https://distribution.github.io/distribution/spec/auth/token/ and, for identity tokens, …/auth/oauth/.
A refusal is remembered, so that many threads do not ask a registry many times with a wrong password.
"""

from __future__ import annotations

import base64
import ipaddress
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from rockiln.errors import CredentialsError, RegistryError
from rockiln.registry.answers import PassingFault, describe, require_answered
from rockiln.registry.challenge import Challenge
from rockiln.registry.credentials import Credentials

if TYPE_CHECKING:
    import httpx

MARGIN_S = 5
"""A token is renewed so long before it expires: the request that carries it takes time, too."""
LEAST_LIFETIME_S = 60
"""https://distribution.github.io/distribution/spec/auth/token/: where a server does not say."""
Scopes = tuple[str, ...]


class Tokens:
    """Who this process is to one registry. Safe to use from several threads."""

    def __init__(
        self, client: httpx.Client, find: Callable[[], Credentials | None], registry: str,
        monotonic: Callable[[], float], *, is_secure: bool,
    ) -> None:  # fmt: skip
        self._client, self._find, self._registry, self._monotonic = client, find, registry, monotonic
        self._is_secure = is_secure
        self._lock = threading.Lock()
        self._challenge: Challenge | None = None
        self._credentials: Credentials | None = None
        self._known: dict[Scopes, tuple[str, float]] = {}
        self._refusal: CredentialsError | None = None
        self._is_accepted = False

    def authorize(self, scopes: Scopes) -> str:
        """Value of the Authorization header; "" while the registry has not asked for one."""
        with self._lock:
            if self._refusal:
                raise self._refusal
            if self._challenge is None:
                return ""
            if self._challenge.scheme == "basic":
                return _encode_basic(self._require_credentials())
            token, until_s = self._known.get(scopes, ("", 0.0))
            if not token or self._monotonic() >= until_s:
                token = self._renew(scopes)
            return f"Bearer {token}"

    def learn(self, challenge: Challenge | None, sent: str, scopes: Scopes) -> None:
        """After a 401: what to do otherwise next time. Raises CredentialsError where there is nothing."""
        with self._lock:
            if challenge is None:
                raise self._refuse(f"{self._registry} answers 401 and does not say how to log in")
            if self._challenge is None:
                self._challenge, self._credentials = challenge, self._find()
            elif challenge.scheme == "basic" and sent:
                raise self._refuse(self._name_refused())
            elif sent == f"Bearer {self._known.get(scopes, ('', 0))[0]}":
                del self._known[scopes]

    def note_accepted(self) -> None:
        """The registry took our credentials: from now on a refusal is about one request, not about who we are."""
        self._is_accepted = True

    def refuse(self, said: str) -> CredentialsError:
        """The error for a registry that knows who asks, and does not let them."""
        return self._make_error(f"{self._registry} does not let {self._name_user()} do this: {said}")

    def _refuse(self, message: str) -> CredentialsError:
        """The same for a registry that does not know us; remembered."""
        error = self._make_error(message)
        if not self._is_accepted:
            self._refusal = error
        return error

    def _make_error(self, message: str) -> CredentialsError:
        return CredentialsError(message, hint=f"docker login {self._registry}, as a user who may read and write there")

    def _name_user(self) -> str:
        found = self._credentials
        return f"{found.user or 'the identity token'} (of {found.origin})" if found else "anybody who is not logged in"

    def _name_refused(self) -> str:
        return f"{self._registry} refuses user name and password of {self._name_user()}"

    def _require_credentials(self) -> Credentials:
        if self._credentials is None:
            raise self._refuse(f"{self._registry} asks for a user name and password, and Docker's config.json has none")
        return self._credentials

    def _renew(self, scopes: Scopes) -> str:
        import httpx

        challenge = self._challenge
        assert challenge is not None  # noqa: S101  # `authorize` has looked
        self._require_safe(challenge.realm)
        try:
            response = self._ask(challenge, scopes)
        except httpx.TransportError as fault:
            reason = f"the token server {challenge.realm} does not answer: {fault}"
            raise PassingFault(reason, is_unanswered=True) from fault
        if response.status_code in {400, 401, 403}:
            raise self._refuse(f"{self._name_refused()}: its token server answers {describe(response)}")
        token, lifetime_s = _read_token(require_answered(response), challenge.realm)
        self._is_accepted = self._credentials is not None
        self._known[scopes] = (token, self._monotonic() + max(lifetime_s - MARGIN_S, lifetime_s / 2))
        return token

    def _ask(self, challenge: Challenge, scopes: Scopes) -> httpx.Response:
        found = self._credentials
        if found and found.identity_token:
            form = {
                "grant_type": "refresh_token", "refresh_token": found.identity_token, "client_id": "rockiln",
                "service": challenge.service, "scope": " ".join(scopes),
            }  # fmt: skip
            return self._client.post(challenge.realm, data=form)
        query = [("service", challenge.service), *(("scope", scope) for scope in scopes)]
        headers = {"Authorization": _encode_basic(found)} if found else {}
        return self._client.get(challenge.realm, params=[pair for pair in query if pair[1]], headers=headers)

    def _require_safe(self, realm: str) -> None:
        """No password goes out in the clear because of what a registry's header says."""
        import httpx

        try:
            url = httpx.URL(realm)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme == "https" or (url.scheme == "http" and (not self._is_secure or _is_loopback(url.host))):
            return
        message = f"{self._registry} names {realm!r} as its token server: no https address"
        raise RegistryError(message, hint="passwords go over https, or to registries for which http was asked for")


def _encode_basic(found: Credentials) -> str:
    return "Basic " + base64.b64encode(f"{found.user}:{found.password}".encode()).decode()


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read_token(response: httpx.Response, realm: str) -> tuple[str, float]:
    """Token, and seconds that it is good for."""
    hint = "is this the registry's token server?"
    if response.status_code != 200:
        raise RegistryError(f"{realm}: no token: {describe(response)}", hint=hint)
    try:
        said = response.json()
        token = said.get("token") or said.get("access_token")
        lifetime_s = float(said.get("expires_in") or LEAST_LIFETIME_S)
    except (ValueError, TypeError, AttributeError) as fault:
        raise RegistryError(f"{realm}: no token: {fault}", hint=hint) from fault
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise RegistryError(f"{realm}: an answer without a token", hint=hint)
    return token, lifetime_s
