"""HOST, port → whether TLS is spoken there, where http was not understood. Nothing is sent or trusted."""

from __future__ import annotations

import socket
import ssl

PROBE_S = 3.0


def speaks_tls(host: str, port: int, timeout_s: float = PROBE_S) -> bool:
    """A handshake with whoever answers; its certificate is not looked at, since the connection ends there."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), timeout=timeout_s) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return True
    except (OSError, ValueError):
        return False
