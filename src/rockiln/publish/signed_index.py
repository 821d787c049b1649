"""A promoted index + key → its signature in the registry, as cosign makes it and looks for it: whoever pulls a tag
gets the index, and not the image whose signature `rockiln attest` made."""

from __future__ import annotations

import base64

from rockiln.attest.attached import SIGNATURE_ARTIFACT, Subject, make_attachment
from rockiln.attest.push_attached import push_attachments
from rockiln.registry.protocol import Manifest, Repository
from rockiln.sign.keys import PrivateKey
from rockiln.sign.simple_signing import PAYLOAD_TYPE, SIGNATURE_ANNOTATION, make_payload


def sign_index(repository: Repository, index: Manifest, key: PrivateKey) -> None:
    """Doing it twice changes nothing: the same key makes the same signature."""
    subject = Subject(
        digest=index.digest, size_bytes=len(index.content), reference=repository.name, media_type=index.media_type
    )
    payload = make_payload(index.digest, repository.name)
    signature = base64.b64encode(key.sign(payload)).decode()
    layers = [(payload, PAYLOAD_TYPE, {SIGNATURE_ANNOTATION: signature})]
    push_attachments(repository, (make_attachment(subject, SIGNATURE_ARTIFACT, layers, is_tagged=True),))
