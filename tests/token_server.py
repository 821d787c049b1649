"""A token server as Docker's registry trusts one: signed tokens that name what somebody may do, and for how long.

https://distribution.github.io/distribution/spec/auth/jwt/
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import secrets
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from loopback_server import LoopbackServer

ISSUER, SERVICE = "tests", "registry of the tests"


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def make_certificate(
    key: EllipticCurvePrivateKey, name: str, *, addresses: tuple[str, ...] = (), issuer: Any = None
) -> x509.Certificate:
    """Self-signed, or signed by `issuer`: (certificate, key)."""
    import ipaddress

    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=not addresses, path_length=None), critical=True)
    )
    if addresses:
        names = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256())


def write_pem(path: Path, item: x509.Certificate | EllipticCurvePrivateKey) -> Path:
    if isinstance(item, x509.Certificate):
        path.write_bytes(item.public_bytes(Encoding.PEM))
    else:
        path.write_bytes(item.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path


class TokenServer(LoopbackServer):
    """Lets `user` with `password` (or `refresh_token`) in; `may` says which actions are granted."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = generate_private_key(SECP256R1())
        self.certificate = make_certificate(self.key, "tokens")
        self.bundle_path = write_pem(folder / "tokens.pem", self.certificate)
        self.user, self.password, self.refresh_token = "somebody", "right", "refresh"
        self.may = {"pull", "push"}
        self.lifetime_s = 300
        self.asked: list[Mapping[str, list[str]]] = []

    @property
    def auth(self) -> dict[str, Any]:
        """For the registry's config."""
        return {
            "token": {
                "realm": f"http://127.0.0.1:{self.server_port}/token", "service": SERVICE, "issuer": ISSUER,
                "rootcertbundle": str(self.bundle_path),
            }
        }  # fmt: skip

    def sign(self, scopes: list[str]) -> str:
        """https://www.rfc-editor.org/rfc/rfc7515, ES256."""
        now = int(time.time())
        access = []
        for scope in scopes:
            kind, _, rest = scope.partition(":")
            name, _, actions = rest.rpartition(":")
            granted = sorted(set(actions.split(",")) & self.may)
            access.append({"type": kind, "name": name, "actions": granted})
        der = base64.b64encode(self.certificate.public_bytes(Encoding.DER)).decode()
        claims = {
            "iss": ISSUER, "sub": self.user, "aud": SERVICE, "iat": now, "nbf": now - 10, "exp": now + self.lifetime_s,
            "jti": secrets.token_hex(8), "access": access,
        }  # fmt: skip
        parts = [_encode(json.dumps(part).encode()) for part in ({"typ": "JWT", "alg": "ES256", "x5c": [der]}, claims)]
        signed = ".".join(parts)
        r, s = decode_dss_signature(self.key.sign(signed.encode(), ECDSA(hashes.SHA256())))
        return f"{signed}.{_encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


class _Handler(BaseHTTPRequestHandler):
    server: TokenServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        wanted = base64.b64encode(f"{self.server.user}:{self.server.password}".encode()).decode()
        self._hand_out(query, is_known=self.headers.get("Authorization") == f"Basic {wanted}")

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        is_known = form.get("refresh_token") == [self.server.refresh_token]
        self._hand_out({**form, "scope": form.get("scope", [""])[0].split()}, is_known=is_known)

    def _hand_out(self, query: Mapping[str, list[str]], *, is_known: bool) -> None:
        self.server.asked.append(query)
        body = b"{}"
        if is_known:
            token = self.server.sign(list(query.get("scope", [])))
            body = json.dumps({"token": token, "access_token": token, "expires_in": self.server.lifetime_s}).encode()
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""
