"""Method, path and scopes → a registry's response: logged in, asked again where that helps, faults in words."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import rockiln
from rockiln.download.client import make_tls
from rockiln.download.patience import Patience
from rockiln.errors import RegistryError, UsageError
from rockiln.registry.answers import MissingFault, PassingFault, describe, require_answered
from rockiln.registry.challenge import parse_challenges
from rockiln.registry.credentials import find_credentials
from rockiln.registry.reference import Reference
from rockiln.registry.tokens import Scopes, Tokens

if TYPE_CHECKING:
    import httpx

CERTIFICATES_PATH = Path("/etc/docker/certs.d")
"""Where Docker looks for a registry's own CAs: HOST:PORT/*.crt."""
CONNECTIONS = 16
MAX_BYTES = 16 << 20
"""Of an answer that is read at once: manifests, small blobs, lists. The specification asks registries for 4 MiB."""
COMMIT_STALLS = 10
"""So many times as long as otherwise may a registry say nothing after an upload: it hashes and moves gigabytes."""
LOGINS = 3
"""Unknown, with a token that has expired meanwhile, and with a new one: a registry that still refuses means it."""
Body = bytes | Callable[[], Iterator[bytes]]
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to reach a registry."""

    plain_http: bool = False
    """http where the registry is not this machine."""
    ca_path: Path | None = None
    """A PEM file with the CA that signed the registry's certificate."""


class Session:
    """Connections to one registry. Safe to use from several threads."""

    def __init__(
        self, reference: Reference, environ: Mapping[str, str], access: Access, patience: Patience
    ) -> None:  # fmt: skip
        ca_paths = _find_cas(reference, access)
        is_plain = access.plain_http or (reference.is_loopback and not ca_paths)
        self.registry, self.patience = reference.registry, patience
        self.url = f"{'http' if is_plain else 'https'}://{reference.api_host}"
        trust = _make_trust(ca_paths, environ)
        self._client = _open_client(trust, patience, uses_proxies=not reference.is_loopback)
        self._long = _make_timeout(patience, COMMIT_STALLS)
        self._tokens = Tokens(
            self._client, lambda: find_credentials(reference.registry, environ), reference.registry,
            patience.monotonic, is_secure=not is_plain,
        )  # fmt: skip

    def close(self) -> None:
        self._client.close()

    def ask(
        self, method: str, url: str, scopes: Scopes, *, headers: Mapping[str, str] | None = None, body: Body = b""
    ) -> httpx.Response:
        """One answer, its body read. Raises PassingFault, MissingFault (404), CredentialsError."""
        with self.stream(method, url, scopes, headers=headers, body=body) as response:
            return response

    @contextmanager
    def stream(
        self, method: str, url: str, scopes: Scopes, *, headers: Mapping[str, str] | None = None, body: Body = b"",
        is_large: bool = False,
    ) -> Iterator[httpx.Response]:  # fmt: skip
        """The same; a body that `is_large` is left for the caller to read."""
        import httpx

        try:
            for _ in range(LOGINS):
                request, sent = self._make_request(method, url, scopes, headers or {}, body)
                response = self._client.send(request, stream=True, follow_redirects=method in {"GET", "HEAD"})
                try:
                    answer = response if is_large and response.status_code < 400 else _read(response)
                    if self._is_let_in(answer, sent, scopes):
                        yield require_answered(answer)
                        return
                finally:
                    response.close()
            raise self._tokens.refuse(describe(response))
        except (httpx.TransportError, httpx.TooManyRedirects, httpx.DecodingError) as fault:
            is_unanswered = isinstance(fault, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError)
            reason = f"{_name_address(url) if '://' in url else self.url}: {_name_fault(fault)}"
            for words, hint in _TLS_HINTS.items():
                if words in str(fault):
                    raise RegistryError(reason, hint=hint) from fault
            raise PassingFault(reason, is_unanswered=is_unanswered) from fault
        except httpx.InvalidURL as fault:
            message = f"{self.registry} sends us to {url!r}: {fault}"
            raise RegistryError(message, hint="is a proxy in between?") from fault

    def _make_request(
        self, method: str, url: str, scopes: Scopes, headers: Mapping[str, str], body: Body
    ) -> tuple[httpx.Request, str]:
        """The request, and the Authorization it carries: only to the registry itself, never where it sends us to."""
        import httpx

        address = self.url + url if url.startswith("/") else url
        is_own = httpx.URL(address).netloc == httpx.URL(self.url).netloc and address.startswith(self.url)
        sent = self._tokens.authorize(scopes) if is_own else ""
        content = body if isinstance(body, bytes) else body()
        all_headers = {**headers, **({"Authorization": sent} if sent else {})}
        timeout = self._long if method in {"PUT", "PATCH"} else self._client.timeout
        request = self._client.build_request(
            method, address, headers=all_headers, content=content or None, timeout=timeout
        )  # fmt: skip
        return request, sent

    def _is_let_in(self, response: httpx.Response, sent: str, scopes: Scopes) -> bool:
        if response.status_code == 403:
            raise self._tokens.refuse(describe(response))
        if response.status_code != 401:
            if sent:
                self._tokens.note_accepted()
            return True
        self._tokens.learn(parse_challenges(response.headers.get_list("www-authenticate")), sent, scopes)
        return False

    def insist(self, what: str, attempt: Callable[[], Made]) -> Made:
        """The result of `attempt`, made again after each PassingFault, as long as patience lasts."""
        failures = 0
        while True:
            try:
                return attempt()
            except PassingFault as fault:
                failures += 1
                self.wait(what, failures, fault)

    def wait(self, what: str, failures: int, fault: PassingFault) -> None:
        """Sleep before the next attempt. Raises RegistryError where there is none."""
        wait_s = self.patience.wait_s(failures, fault.retry_after, is_unanswered=fault.is_unanswered)
        if wait_s is None:
            tries = f" (asked {failures} times)" if failures > 1 else ""
            known = "run it again later: what has arrived is not sent twice"
            unanswered = "is the registry's name right, and can this machine reach it (https_proxy)?"
            hint = unanswered if fault.is_unanswered else known
            raise RegistryError(f"{what}: {fault.reason}{tries}", hint=hint) from fault
        self.patience.sleep(wait_s)

    def find(self, what: str, attempt: Callable[[], Made]) -> Made | None:
        """As `insist`; None for what is not there."""
        try:
            return self.insist(what, attempt)
        except MissingFault:
            return None


def _read(response: httpx.Response) -> httpx.Response:
    """The same with its body in memory. Raises RegistryError for one that is too large to be what was asked for."""
    import httpx

    pieces: list[bytes] = []
    size_bytes = 0
    for piece in response.iter_bytes():
        size_bytes += len(piece)
        if size_bytes > MAX_BYTES:
            message = f"{_name_address(str(response.url))}: more than {MAX_BYTES >> 20} MiB"
            raise RegistryError(message, hint="is this an OCI registry?")
        pieces.append(piece)
    headers = [(name, text) for name, text in response.headers.multi_items() if name.lower() not in _BODY_HEADERS]
    return httpx.Response(response.status_code, headers=headers, content=b"".join(pieces), request=response.request)


_BODY_HEADERS = {"content-encoding", "content-length", "transfer-encoding"}
_TLS_HINTS = {
    "CERTIFICATE_VERIFY_FAILED":
        "name the CA that signed the registry's certificate: --ca FILE, or /etc/docker/certs.d/HOST:PORT/ca.crt",
    "WRONG_VERSION_NUMBER": "it does not speak https: --plain-http, if you trust the network in between",
}  # fmt: skip
"""What no second attempt changes."""


def _open_client(trust: ssl.SSLContext, patience: Patience, *, uses_proxies: bool) -> httpx.Client:
    """Proxies are those of the standard variables; never for this machine's own address, as Docker has it."""
    import httpx

    try:
        return httpx.Client(
            verify=trust,
            headers={"User-Agent": f"rockiln/{rockiln.__version__}", "Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            timeout=_make_timeout(patience),
            trust_env=uses_proxies,
        )
    except (ImportError, ValueError, httpx.InvalidURL) as fault:
        hint = "http_proxy, https_proxy and all_proxy hold http://[USER:PASSWORD@]HOST:PORT"
        raise RegistryError(f"the proxy variables name no proxy that can be used: {fault}", hint=hint) from fault


def _make_timeout(patience: Patience, stalls: int = 1) -> httpx.Timeout:
    import httpx

    stall_s = patience.stall_s
    return httpx.Timeout(connect=patience.connect_s, read=stall_s * stalls, write=stall_s, pool=None)


def _find_cas(reference: Reference, access: Access) -> tuple[Path, ...]:
    said = (access.ca_path,) if access.ca_path else ()
    folder = CERTIFICATES_PATH / reference.registry
    return (*said, *sorted(folder.glob("*.crt"))) if not access.plain_http else ()


def _make_trust(ca_paths: tuple[Path, ...], environ: Mapping[str, str]) -> ssl.SSLContext:
    trust = make_tls(environ)
    for path in ca_paths:
        try:
            trust.load_verify_locations(cafile=path)
        except OSError as fault:
            hint = "a PEM file with the CA's certificate"
            raise UsageError(f"{path}: no certificates: {fault}", hint=hint) from fault
    return trust


def _name_address(url: str) -> str:
    return url.partition("?")[0]


def _name_fault(fault: Exception) -> str:
    return str(fault) or type(fault).__name__
