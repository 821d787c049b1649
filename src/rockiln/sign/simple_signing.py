"""An image's digest and name → the bytes that cosign signs, and back.

https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#simple-signing
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from rockiln.image_config import encode

PAYLOAD_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json"
SIGNATURE_ANNOTATION = "dev.cosignproject.cosign/signature"
_TYPE = "cosign container image signature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What a payload says."""

    digest: str
    """sha256:… of the image's manifest."""
    reference: str
    """The name under which its signer knows the image; cosign itself does not compare it."""


def make_payload(digest: str, reference: str) -> bytes:
    """Sorted, without a clock."""
    critical = {
        "identity": {"docker-reference": reference},
        "image": {"docker-manifest-digest": digest},
        "type": _TYPE,
    }
    return encode({"critical": critical, "optional": None})


def read_payload(content: bytes) -> Signed:
    """Raises ValueError for bytes of any other form."""
    try:
        critical = json.loads(content)["critical"]
        if critical["type"] != _TYPE:
            raise ValueError(f"a signature of type {critical['type']!r}")
        return Signed(
            digest=str(critical["image"]["docker-manifest-digest"]),
            reference=str(critical["identity"]["docker-reference"]),
        )
    except (KeyError, TypeError, RecursionError) as fault:
        raise ValueError("not the payload of an image's signature") from fault
