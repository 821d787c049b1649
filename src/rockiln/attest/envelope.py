"""A statement + key → a DSSE envelope, and back: envelope + key → the statement that was signed.

https://github.com/secure-systems-lab/dsse/blob/master/protocol.md and envelope.md.
"""

from __future__ import annotations

import base64
import json

from rockiln.errors import VerificationError
from rockiln.image_config import encode
from rockiln.shape_faults import name_shape_fault
from rockiln.sign.keys import PrivateKey, PublicKey

ENVELOPE_TYPE = "application/vnd.dsse.envelope.v1+json"
STATEMENT_TYPE = "application/vnd.in-toto+json"


def encode_pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """What is signed, PAE: type and body with their lengths, so that neither can be taken for the other."""
    kind = payload_type.encode()
    return b" ".join((b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload))


def seal(statement: bytes, key: PrivateKey) -> bytes:
    """The envelope as JSON, with one signature."""
    signature = key.sign(encode_pre_authentication(STATEMENT_TYPE, statement))
    row = {"keyid": key.public.key_id, "sig": base64.b64encode(signature).decode()}
    return encode(
        {"payload": base64.b64encode(statement).decode(), "payloadType": STATEMENT_TYPE, "signatures": [row]}
    )


def open_envelope(content: bytes, key: PublicKey, name: str) -> bytes:
    """The statement. Raises VerificationError where no signature of it is the key's."""
    try:
        value = json.loads(content)
        payload = base64.b64decode(value["payload"], validate=True)
        kind = str(value["payloadType"])
        signatures = [base64.b64decode(row["sig"], validate=True) for row in value["signatures"]]
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        what = name_shape_fault(fault)
        raise VerificationError(f"{name}: not a DSSE envelope: {what}", hint="sign the image anew") from fault
    if kind != STATEMENT_TYPE:
        raise VerificationError(f"{name}: holds {kind!r}, no in-toto statement")
    signed = encode_pre_authentication(kind, payload)
    if not any(key.is_signed(signature, signed) for signature in signatures):
        hint = f"it was changed, or signed with another key than {key.key_id[:12]}"
        raise VerificationError(f"{name}: the signature does not fit", hint=hint)
    return payload
