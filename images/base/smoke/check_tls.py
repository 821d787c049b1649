# tier: cpu
# timeout-s: 60
"""TLS finds the certificate authorities: as one bundle, and by hashed name as OpenSSL looks them up."""

import re
import ssl
from pathlib import Path

BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")

context = ssl.create_default_context()
context.load_verify_locations(cafile=str(BUNDLE))
count = context.cert_store_stats()["x509_ca"]
assert count >= 100, f"{BUNDLE} holds {count} authorities"

paths = ssl.get_default_verify_paths()
hashed = [path for path in Path(paths.openssl_capath).iterdir() if re.fullmatch(r"[0-9a-f]{8}\.\d", path.name)]
assert len(hashed) >= 100, f"{paths.openssl_capath} has {len(hashed)} hashed names"
for path in hashed:
    assert "BEGIN CERTIFICATE" in path.read_text(), path
print(f"{count} authorities, {len(hashed)} hashed names")
