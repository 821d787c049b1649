"""Environment → an HTTP client: standard proxy variables, private CAs, ~/.netrc. One a run, for all threads."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import rockiln
from rockiln.download.patience import Patience
from rockiln.errors import FetchError

if TYPE_CHECKING:
    import httpx


def open_client(environ: Mapping[str, str], patience: Patience, connections: int) -> httpx.Client:
    """A client that follows redirects. Proxy variables are read by httpx (`trust_env`), as curl reads them."""
    import httpx

    tls, auth = make_tls(environ), _make_auth(environ)
    try:
        return httpx.Client(
            verify=tls,
            auth=auth,
            headers={"User-Agent": f"rockiln/{rockiln.__version__}", "Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            timeout=httpx.Timeout(patience.stall_s, connect=patience.connect_s, pool=None),
            follow_redirects=True,
            trust_env=True,
        )
    except (ImportError, ValueError, httpx.InvalidURL) as fault:
        message = f"the proxy variables name no proxy that can be used: {fault}"
        hint = "http_proxy, https_proxy and all_proxy hold http://[USER:PASSWORD@]HOST:PORT"
        raise FetchError(message, hint=hint) from fault


def make_tls(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Trust what SSL_CERT_FILE and SSL_CERT_DIR name, else what the host trusts, else Mozilla's list."""
    file, folder = environ.get("SSL_CERT_FILE") or None, environ.get("SSL_CERT_DIR") or None
    host = ssl.get_default_verify_paths()
    if not (file or folder or host.cafile or host.capath):
        import certifi

        file = certifi.where()
    try:
        return ssl.create_default_context(cafile=file, capath=folder)
    except OSError as fault:
        message = f"SSL_CERT_FILE={file or ''} SSL_CERT_DIR={folder or ''}: cannot read certificates: {fault}"
        raise FetchError(message, hint="name a PEM file with the CAs to trust, or unset the variable") from fault


def _make_auth(environ: Mapping[str, str]) -> httpx.Auth | None:
    """Passwords by host from netrc, as pip and uv use them; those in a URL go before."""
    import netrc

    import httpx

    path = Path(environ.get("NETRC") or Path(environ.get("HOME") or "/") / ".netrc")
    if not path.is_file():
        return None
    try:
        return httpx.NetRCAuth(str(path))
    except (OSError, netrc.NetrcParseError) as fault:
        raise FetchError(f"{path}: cannot read: {fault}", hint="repair the file, or set NETRC to another") from fault
