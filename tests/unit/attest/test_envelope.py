"""Statements in envelopes: what is signed is what comes out; anything else is refused by name."""

from __future__ import annotations

import base64
import json

import pytest

from rockiln.attest.envelope import encode_pre_authentication, open_envelope, seal
from rockiln.attest.statement import CYCLONEDX, make_statement, read_statement
from rockiln.errors import VerificationError
from rockiln.sign.keys import generate_key

KEY = generate_key()
DIGEST = "sha256:" + "cd" * 32
STATEMENT = make_statement("rockiln/jax", DIGEST, CYCLONEDX, {"components": []})


def test_pre_authentication_is_that_of_the_specification() -> None:
    """The example of https://github.com/secure-systems-lab/dsse/blob/master/protocol.md."""
    wanted = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert encode_pre_authentication("http://example.com/HelloWorld", b"hello world") == wanted


def test_statement_comes_out_as_it_went_in() -> None:
    sealed = seal(STATEMENT, KEY)
    assert sealed == seal(STATEMENT, KEY)
    assert open_envelope(sealed, KEY.public, "sbom") == STATEMENT
    read = read_statement(STATEMENT)
    assert (read.digests, read.predicate_type, read.predicate) == ((DIGEST,), CYCLONEDX, {"components": []})


def test_another_key_does_not_open_it() -> None:
    with pytest.raises(VerificationError, match="provenance: the signature does not fit"):
        open_envelope(seal(STATEMENT, KEY), generate_key().public, "provenance")


def test_changed_payload_and_type_do_not_open() -> None:
    value = json.loads(seal(STATEMENT, KEY))
    other = base64.b64encode(STATEMENT.replace(b"jax", b"jay")).decode()
    for changed in ({**value, "payload": other}, {**value, "payloadType": "text/plain"}, {**value, "signatures": []}):
        with pytest.raises(VerificationError):
            open_envelope(json.dumps(changed).encode(), KEY.public, "sbom")


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"payload": "%%", "payloadType": "", "signatures": []}'])
def test_what_is_no_envelope_is_refused(content: bytes) -> None:
    with pytest.raises(VerificationError, match="not a DSSE envelope"):
        open_envelope(content, KEY.public, "sbom")


BARE = STATEMENT.replace(b'{"components":[]}', b"3")


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"_type": "x"}', BARE])
def test_what_is_no_statement_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_statement(content)
