"""Method, path and scopes → a registry's response: logged in, asked again where that helps, faults in words."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import rockiln
from rockiln.download.client import make_tls
from rockiln.download.patience import Patience, parse_retry_after
from rockiln.errors import RegistryError, UsageError
from rockiln.registry.answers import REFUSED, WRITING, MissingFault, PassingFault, describe, require_answered
from rockiln.registry.challenge import parse_challenges
from rockiln.registry.credentials import find_credentials
from rockiln.registry.reference import Reference
from rockiln.registry.tls_probe import speaks_tls
from rockiln.registry.tokens import Scopes, Tokens

if TYPE_CHECKING:
    import httpx

CERTIFICATES_PATH = Path("/etc/docker/certs.d")
"""Where Docker looks for a registry's own CAs: HOST:PORT/*.crt."""
CONNECTIONS = 16
SILENCE_S = 5.0
"""So long may an answer take before it is said that we wait for it."""
MAX_BYTES = 16 << 20
"""Of an answer that is read at once: manifests, small blobs, lists. The specification asks registries for 4 MiB."""
COMMIT_STALLS = 10
"""So many times as long as otherwise may a registry say nothing after an upload: it hashes and moves gigabytes."""
LOGINS = 3
"""Unknown, with a token that has expired meanwhile, and with a new one: a registry that still refuses means it."""
Body = bytes | Callable[[], Iterator[bytes]]
Made = TypeVar("Made")


def ignore_words(_text: str) -> None:
    """For those whom nobody listens to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to reach a registry."""

    plain_http: bool = False
    """http where the registry is not this machine."""
    ca_path: Path | None = None
    """A PEM file with the CA that signed the registry's certificate."""
    tell: Callable[[str], None] = ignore_words
    """Told of a registry that is silent, and of each attempt that follows."""


class Session:
    """Connections to one registry. Safe to use from several threads."""

    def __init__(
        self, reference: Reference, environ: Mapping[str, str], access: Access, patience: Patience
    ) -> None:  # fmt: skip
        ca_paths = _find_cas(reference, access)
        is_plain = access.plain_http or (reference.is_loopback and not ca_paths)
        self.registry, self.patience, self._access = reference.registry, patience, access
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
                with self._told_of_silence(request, is_watched=isinstance(body, bytes)):
                    response = self._client.send(request, stream=True, follow_redirects=method in {"GET", "HEAD"})
                try:
                    if response.status_code == 400:
                        self._require_http(request)
                    answer = response if is_large and response.status_code < 400 else _read(response)
                    if self._is_let_in(answer, sent, scopes):
                        yield require_answered(answer)
                        return
                finally:
                    response.close()
            raise self._tokens.refuse(describe(response))
        except httpx.TooManyRedirects as fault:
            message = f"{_name_address(str(fault.request.url))}: it redirects for ever"
            hint = "does HOST/NAME name the registry itself, and is a proxy in between?"
            raise RegistryError(message, hint=hint) from fault
        except (httpx.TransportError, httpx.DecodingError) as fault:
            if isinstance(fault, httpx.RemoteProtocolError | httpx.ReadError):
                self._require_http(fault.request)
            is_unanswered = isinstance(fault, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError)
            reason = f"{_name_address(url) if '://' in url else self.url}: {_name_fault(fault)}"
            for words, hint in _TLS_HINTS.items():
                if words in str(fault):
                    raise RegistryError(reason, hint=hint) from fault
            raise PassingFault(reason, is_unanswered=is_unanswered) from fault
        except httpx.InvalidURL as fault:
            message = f"{self.registry} sends us to {url!r}: {fault}"
            raise RegistryError(message, hint="is a proxy in between?") from fault

    def _require_http(self, request: httpx.Request) -> None:
        """Raises RegistryError where we speak http to a registry that speaks https: no second attempt changes that."""
        url = request.url
        if url.scheme == "http" and self.url.startswith("http://") and speaks_tls(url.host, url.port or 80):
            without = "leave out --plain-http, and name" if self._access.plain_http else "name"
            places = f"--ca FILE, or {CERTIFICATES_PATH}/{self.registry}/ca.crt"
            hint = f"{without} the CA that signed its certificate: {places}"
            raise RegistryError(f"{self.registry} speaks https, and was asked over http", hint=hint)

    @contextmanager
    def _told_of_silence(self, request: httpx.Request, *, is_watched: bool) -> Iterator[None]:
        """Say so where no answer comes; a body that goes in pieces has its own progress."""
        limit_s = request.extensions["timeout"]["read"]
        text = f"{self.registry}: no answer for {SILENCE_S:.0f} s; this attempt waits for up to {limit_s:.0f} s"
        timer = threading.Timer(SILENCE_S, self._access.tell, (text,))
        timer.daemon = True
        if is_watched:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()

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
            is_write = response.request.method in WRITING
            raise self._tokens.refuse(f"{REFUSED}: {describe(response)}" if is_write else describe(response))
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
            self._refuse_long_wait(what, fault)
            tries = f" (asked {failures} times)" if failures > 1 else ""
            is_read = what.startswith(("GET ", "HEAD "))
            known = "run it again later" + ("" if is_read else ": what has arrived is not sent twice")
            unanswered = "is the registry's name right, and can this machine reach it (https_proxy)?"
            hint = unanswered if fault.is_unanswered else known
            raise RegistryError(f"{what}: {fault.reason}{tries}", hint=hint) from fault
        most = self.patience.unanswered_attempts if fault.is_unanswered else self.patience.attempts
        self._access.tell(f"{what}: {fault.reason}; attempt {failures + 1} of {most} in {wait_s:.1f} s")
        self.patience.sleep(wait_s)

    def _refuse_long_wait(self, what: str, fault: PassingFault) -> None:
        asked_s = parse_retry_after(fault.retry_after, self.patience.clock())
        if asked_s > (most_s := self.patience.longest_retry_after_s):
            message = f"{what}: {fault.reason}: it asks to wait {asked_s:.9g} s, and rockiln waits at most {most_s:g} s"
            raise RegistryError(message, hint="run it again after that time") from fault

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
