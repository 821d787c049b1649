"""A smoke result → a referrer of the image it is about, signed; and back: what has been attested of a digest."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from rockiln.attest.envelope import ENVELOPE_TYPE, STATEMENT_TYPE
from rockiln.attest.statement import make_statement, read_statement
from rockiln.console import printable
from rockiln.errors import RegistryError, VerificationError
from rockiln.publish.results import OWN_KEY, PREDICATE_TYPE, TierResult, read_results
from rockiln.registry.artifacts import Artifact, attach_artifact, read_artifact
from rockiln.registry.protocol import Descriptor, Repository

PREDICATE_NOTE = "in-toto.io/predicate-type"
"""Annotation by which tools tell attestations apart without reading them."""
Seal = Callable[[bytes], bytes]
"""A statement → a signed envelope."""
OpenSealed = Callable[[bytes, str], bytes]
"""A signed envelope and its name → the statement. Raises VerificationError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attested:
    """What is known of a digest."""

    results: tuple[TierResult, ...]
    refused: tuple[str, ...]
    """Attestations that do not count, each with the reason."""


def attach_result(
    repository: Repository, digest: str, predicate: Mapping[str, object], seal: Seal | None
) -> Descriptor:  # fmt: skip
    """Attach what a run of smoke found to the manifest `digest`; without `seal` unsigned."""
    statement = make_statement(repository.name, digest, PREDICATE_TYPE, predicate)
    artifact = Artifact(
        artifact_type=STATEMENT_TYPE,
        media_type=ENVELOPE_TYPE if seal else STATEMENT_TYPE,
        content=seal(statement) if seal else statement,
        annotations={PREDICATE_NOTE: PREDICATE_TYPE},
    )
    return attach_artifact(repository, artifact, digest)


def find_attested(
    repository: Repository, digest: str, open_sealed: OpenSealed | None, *, allow_unsigned: bool
) -> Attested:  # fmt: skip
    """Every result that was attached to the manifest `digest` and counts."""
    results: list[TierResult] = []
    refused: list[str] = []
    for referrer in repository.list_referrers(digest, STATEMENT_TYPE):
        if referrer.annotations.get(PREDICATE_NOTE) != PREDICATE_TYPE:
            continue
        try:
            results += _read_one(repository, referrer, digest, open_sealed, allow_unsigned=allow_unsigned)
        except (ValueError, VerificationError, RegistryError) as fault:
            refused.append(printable(f"{referrer.digest[:19]}…: {fault}"))
    return Attested(results=tuple(results), refused=tuple(refused))


def read_seconds(repository: Repository, digest: str) -> dict[str, float]:
    """Tier → seconds that its checks took, of the last run of each that was attested of the manifest `digest`: for
    people to compare, so no signature is looked at, and what cannot be read counts for nothing."""
    found: dict[str, tuple[str, float]] = {}
    for referrer in repository.list_referrers(digest, STATEMENT_TYPE):
        with suppress(ValueError, KeyError, TypeError, AttributeError, RegistryError):
            content = read_artifact(repository, referrer).content
            value = json.loads(content)
            statement = json.loads(base64.b64decode(value["payload"])) if "payload" in value else value
            own = statement["predicate"][OWN_KEY]
            for tier, said in own["tiers"].items():
                run = (str(own["finished"]), float(said["seconds"]))
                found[str(tier)] = max(run, found.get(str(tier), run))
    return {tier: seconds for tier, (_, seconds) in sorted(found.items())}


def _read_one(
    repository: Repository, referrer: Descriptor, digest: str, open_sealed: OpenSealed | None, *, allow_unsigned: bool
) -> tuple[TierResult, ...]:  # fmt: skip
    artifact = read_artifact(repository, referrer)
    is_signed = artifact.media_type == ENVELOPE_TYPE
    if is_signed and open_sealed:
        content = open_sealed(artifact.content, f"{repository.name}@{referrer.digest}")
    elif is_signed:
        raise ValueError("signed, and no key was given to check it with: --key FILE")
    elif allow_unsigned:
        content = artifact.content
    else:
        raise ValueError("not signed: promote --allow-unsigned takes it all the same")
    statement = read_statement(content)
    if digest not in statement.digests or statement.predicate_type != PREDICATE_TYPE:
        raise ValueError("a statement about something else")
    return read_results(statement.predicate, is_signed=is_signed)
