"""An image's digest + a predicate → an in-toto statement, and back.

https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rockiln.image_config import encode
from rockiln.shape_faults import name_shape_fault

TYPE = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
CYCLONEDX = "https://cyclonedx.org/bom"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What somebody says about an image."""

    digests: tuple[str, ...]
    """sha256:… of each subject."""
    predicate_type: str
    predicate: Mapping[str, Any]


def make_statement(name: str, digest: str, predicate_type: str, predicate: Mapping[str, Any]) -> bytes:
    """About one image, by the digest of its manifest."""
    algorithm, _, encoded = digest.partition(":")
    return encode(
        {
            "_type": TYPE,
            "subject": [{"name": name, "digest": {algorithm: encoded}}],
            "predicateType": predicate_type,
            "predicate": predicate,
        }
    )


def read_statement(content: bytes) -> Statement:
    """Raises ValueError for anything else."""
    try:
        value = json.loads(content)
        if value["_type"] != TYPE:
            raise ValueError(f"a statement of type {value['_type']!r}")
        digests = tuple(f"sha256:{row['digest']['sha256']}" for row in value["subject"])
        predicate = dict(value["predicate"].items())
        return Statement(digests=digests, predicate_type=str(value["predicateType"]), predicate=predicate)
    except (KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise ValueError(f"not an in-toto statement: {name_shape_fault(fault)}") from fault
