"""PEM text (+ password) ⇄ keys: ECDSA over P-256, plain or in the encrypted form that cosign writes.

cosign's form: https://github.com/sigstore/cosign/blob/main/pkg/cosign/keys.go names the PEM block; in it lies JSON with
scrypt's parameters, a nonce and the PKCS 8 key in a secretbox of NaCl. A key that cosign 2 wrote was opened with it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rockiln.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

LABELS = ("ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY")
"""The first is written; the second is what older versions of cosign wrote."""
SCRYPT = {"N": 65536, "r": 8, "p": 1}
"""What cosign 2 writes. It accepts these N and no others: 2^15 (older), 2^16, 2^17."""
_ALLOWED_N = frozenset({1 << 15, 1 << 16, 1 << 17})
_SALT_BYTES = 32
_BLOCK = re.compile(rf"-----BEGIN ({'|'.join(LABELS)})-----\s+([A-Za-z0-9+/=\s]+?)-----END \1-----\s*")
_KEY_HINT = "a key is a file of `rockiln generate-key` or `cosign generate-key-pair`, or a PEM file of ECDSA P-256"


class PasswordError(UsageError):
    """The password does not open the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """Checks signatures. `key_id` is the sha256 of its DER form, by which envelopes name it."""

    key: EllipticCurvePublicKey
    key_id: str

    def is_signed(self, signature: bytes, content: bytes) -> bool:
        """Whether `signature` (DER) is this key's over the sha256 of `content`."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
        from cryptography.hazmat.primitives.hashes import SHA256

        try:
            self.key.verify(signature, content, ECDSA(SHA256()))
        except InvalidSignature:
            return False
        return True

    def to_pem(self) -> str:
        """SubjectPublicKeyInfo, as cosign.pub has it."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        return self.key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateKey:
    """Makes signatures."""

    key: EllipticCurvePrivateKey

    @property
    def public(self) -> PublicKey:
        return _make_public(self.key.public_key())

    def sign(self, content: bytes) -> bytes:
        """DER, over the sha256 of `content`; deterministic (RFC 6979), so that the same input gives the same bytes."""
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
        from cryptography.hazmat.primitives.hashes import SHA256

        return self.key.sign(content, ECDSA(SHA256(), deterministic_signing=True))


def generate_key() -> PrivateKey:
    """A new one."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
    from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate

    return PrivateKey(key=generate(SECP256R1()))


def encrypt_key(private: PrivateKey, password: bytes) -> str:
    """The text of a cosign.key."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from nacl.secret import SecretBox

    plain = private.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(SecretBox.NONCE_SIZE)
    box = SecretBox(_derive(password, salt, SCRYPT))
    value = {
        "kdf": {"name": "scrypt", "params": SCRYPT, "salt": _encode(salt)},
        "cipher": {"name": "nacl/secretbox", "nonce": _encode(nonce)},
        "ciphertext": _encode(box.encrypt(plain, nonce).ciphertext),
    }
    text = _encode(json.dumps(value, separators=(",", ":")).encode())
    lines = "\n".join(text[start : start + 64] for start in range(0, len(text), 64))
    return f"-----BEGIN {LABELS[0]}-----\n{lines}\n-----END {LABELS[0]}-----\n"


def read_private_key(text: str, password: bytes, name: str) -> PrivateKey:
    """A cosign.key, or PEM (PKCS 8 or SEC 1, encrypted or not). Raises UsageError, which holds no secret."""
    from cryptography.hazmat.primitives.serialization import load_der_private_key, load_pem_private_key

    block = _BLOCK.fullmatch(text.strip())
    try:
        if block:
            key = load_der_private_key(_decrypt(block[2], password, name), None)
        else:
            key = load_pem_private_key(text.encode(), password if "ENCRYPTED" in text else None)
    except (ValueError, TypeError) as fault:
        if "ENCRYPTED" in text and not block:
            raise PasswordError(f"{name}: the password is wrong, or this is no key", hint=_KEY_HINT) from fault
        raise UsageError(f"{name}: this is no private key", hint=_KEY_HINT) from fault
    return PrivateKey(key=_require_p256(key, name))


def read_public_key(text: str, name: str) -> PublicKey:
    """PEM of a public key. Raises UsageError."""
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, TypeError) as fault:
        raise UsageError(f"{name}: this is no public key", hint="a public key is a file such as cosign.pub") from fault
    return _make_public(_require_p256(key, name))


def _make_public(key: EllipticCurvePublicKey) -> PublicKey:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(key=key, key_id=hashlib.sha256(der).hexdigest())


def _require_p256(key: Any, name: str) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1

    if not isinstance(getattr(key, "curve", None), SECP256R1):
        raise UsageError(f"{name}: not a key of ECDSA over P-256", hint=_KEY_HINT)
    return key


def _decrypt(text: str, password: bytes, name: str) -> bytes:
    from nacl.exceptions import CryptoError
    from nacl.secret import SecretBox

    try:
        value = json.loads(base64.b64decode("".join(text.split()), validate=True))
        kdf, cipher = value["kdf"], value["cipher"]
        if (kdf["name"], cipher["name"]) != ("scrypt", "nacl/secretbox"):
            raise UsageError(f"{name}: encrypted in an unknown way", hint=_KEY_HINT)
        box = SecretBox(_derive(password, _decode(kdf["salt"]), kdf["params"]))
        return box.decrypt(_decode(value["ciphertext"]), _decode(cipher["nonce"]))
    except CryptoError as fault:
        raise PasswordError(f"{name}: wrong password", hint="it is read from COSIGN_PASSWORD") from fault
    except (KeyError, AttributeError, RecursionError) as fault:
        raise UsageError(f"{name}: a damaged key", hint=_KEY_HINT) from fault


def _derive(password: bytes, salt: bytes, params: Any) -> bytes:
    """Parameters are bounded: a file asks for no more memory (128 MiB) than cosign's own do."""
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    if params["N"] not in _ALLOWED_N or (params["r"], params["p"]) != (8, 1):
        raise ValueError("scrypt parameters that cosign does not write")
    return Scrypt(salt=salt, length=32, n=params["N"], r=params["r"], p=params["p"]).derive(password)


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _decode(text: Any) -> bytes:
    return base64.b64decode(text, validate=True)
