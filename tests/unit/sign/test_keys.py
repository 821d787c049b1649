"""Keys: cosign's encrypted form and plain PEM, wrong passwords, other curves; payloads as cosign has them."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from rockiln.errors import UsageError
from rockiln.sign.keys import LABELS, PrivateKey, encrypt_key, generate_key, read_private_key, read_public_key
from rockiln.sign.simple_signing import make_payload, read_payload

KEY = generate_key()
DIGEST = "sha256:" + "ab" * 32


def plain_pem(key: PrivateKey, password: bytes = b"") -> str:
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    return key.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()


@pytest.mark.parametrize("password", [b"", b"secret", "pässword".encode()])
def test_encrypted_key_opens_with_its_password(password: bytes) -> None:
    text = encrypt_key(KEY, password)
    assert text.startswith(f"-----BEGIN {LABELS[0]}-----\n")
    assert read_private_key(text, password, "cosign.key").public == KEY.public


def test_encrypted_key_has_the_form_that_cosign_writes() -> None:
    body = "".join(encrypt_key(KEY, b"x").splitlines()[1:-1])
    value = json.loads(base64.b64decode(body))
    assert value["kdf"]["name"] == "scrypt"
    assert value["kdf"]["params"] == {"N": 65536, "r": 8, "p": 1}
    assert len(base64.b64decode(value["kdf"]["salt"])) == 32
    assert value["cipher"]["name"] == "nacl/secretbox"
    assert len(base64.b64decode(value["cipher"]["nonce"])) == 24


def test_key_is_derived_as_openssl_derives_it() -> None:
    """hashlib's scrypt is OpenSSL's; the box is opened with it."""
    from nacl.secret import SecretBox

    value = json.loads(base64.b64decode("".join(encrypt_key(KEY, b"pw").splitlines()[1:-1])))
    salt = base64.b64decode(value["kdf"]["salt"])
    derived = hashlib.scrypt(b"pw", salt=salt, n=65536, r=8, p=1, maxmem=1 << 28, dklen=32)
    plain = SecretBox(derived).decrypt(
        base64.b64decode(value["ciphertext"]), base64.b64decode(value["cipher"]["nonce"])
    )
    assert plain == KEY.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def test_label_of_older_cosign_is_read() -> None:
    text = encrypt_key(KEY, b"x").replace(LABELS[0], LABELS[1])
    assert read_private_key(text, b"x", "cosign.key").public == KEY.public


def test_plain_and_encrypted_pem_are_read() -> None:
    assert read_private_key(plain_pem(KEY), b"", "key.pem").public == KEY.public
    assert read_private_key(plain_pem(KEY, b"pw"), b"pw", "key.pem").public == KEY.public


def test_wrong_password_is_named_without_the_password() -> None:
    with pytest.raises(UsageError, match=r"cosign\.key: wrong password") as caught:
        read_private_key(encrypt_key(KEY, b"right"), b"wrong-one", "cosign.key")
    assert "wrong-one" not in f"{caught.value.message}{caught.value.hint}"


@pytest.mark.parametrize("text", ["", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no private key"):
        read_private_key(text, b"", "key")


def test_damaged_box_is_refused() -> None:
    lines = encrypt_key(KEY, b"x").splitlines()
    lines[3] = lines[3][::-1]
    with pytest.raises(UsageError):
        read_private_key("\n".join(lines), b"x", "key")


def test_key_that_asks_for_much_memory_is_refused() -> None:
    lines = encrypt_key(KEY, b"x").splitlines()
    value = json.loads(base64.b64decode("".join(lines[1:-1])))
    value["kdf"]["params"]["N"] = 1 << 30
    body = base64.b64encode(json.dumps(value).encode()).decode()
    with pytest.raises(UsageError):
        read_private_key(f"{lines[0]}\n{body}\n{lines[-1]}\n", b"x", "key")


def test_other_curves_are_refused() -> None:
    other = PrivateKey(key=generate_private_key(SECP384R1()))
    with pytest.raises(UsageError, match="P-256"):
        read_private_key(plain_pem(other), b"", "key")


def test_signature_is_the_same_each_time_and_fits_only_its_content() -> None:
    signature = KEY.sign(b"content")
    assert signature == KEY.sign(b"content")
    public = read_public_key(KEY.public.to_pem(), "cosign.pub")
    assert public == KEY.public
    assert public.is_signed(signature, b"content")
    assert not public.is_signed(signature, b"Content")
    assert not public.is_signed(signature[:-1] + bytes([signature[-1] ^ 1]), b"content")
    assert not generate_key().public.is_signed(signature, b"content")


def test_public_key_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="no public key"):
        read_public_key("hello", "cosign.pub")


def test_payload_has_the_fields_of_simple_signing() -> None:
    payload = make_payload(DIGEST, "ghcr.io/user/jax")
    assert json.loads(payload)["critical"]["image"] == {"docker-manifest-digest": DIGEST}
    assert json.loads(payload)["critical"]["type"] == "cosign container image signature"
    read = read_payload(payload)
    assert (read.digest, read.reference) == (DIGEST, "ghcr.io/user/jax")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"critical": {"type": "x"}}'])
def test_what_is_no_payload_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_payload(content)
