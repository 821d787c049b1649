"""CheckedImage + attachments + key → Verification: each thing that holds; the first that does not is an error."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rockiln.attest.attached import Attachment
from rockiln.attest.envelope import ENVELOPE_TYPE, open_envelope
from rockiln.attest.provenance import list_materials
from rockiln.attest.statement import CYCLONEDX, PROVENANCE, Statement, read_statement
from rockiln.console import Console
from rockiln.errors import VerificationError
from rockiln.readers import digest_of
from rockiln.sbom.document import MEDIA_TYPE as SBOM_TYPE
from rockiln.sbom.document import list_components, name_component
from rockiln.shape_faults import name_shape_fault
from rockiln.sign.keys import PublicKey
from rockiln.sign.simple_signing import PAYLOAD_TYPE, SIGNATURE_ANNOTATION, read_payload
from rockiln.verification.check_image import CheckedImage, check_image, require_row
from rockiln.verification.sources import ImageSource

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Something that holds."""

    what: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """An image that is what was signed."""

    subject: str
    digest: str
    reference: str
    """The name that was signed."""
    key_id: str
    builder: str
    target: str
    archs: tuple[str, ...]
    passed: tuple[Passed, ...]


def verify_image(
    source: ImageSource, key: PublicKey, console: Console, *, with_layers: bool = True, builder: str = ""
) -> Verification:
    """Everything, or VerificationError. `builder` is the builder id that the provenance must name; "" for any."""
    image = check_image(source, console, with_layers=with_layers)
    attachments = source.read_attachments()
    for one in attachments:
        _require_whole(one, source.name, image.digest)
    reference = _check_signature(image, attachments, key, source.name)
    _check_signed_name(source, reference)
    statements = _read_statements(image, attachments, key, source.name)
    _check_built_row(source, statements)
    found_builder = _check_provenance(statements, builder, source.name)
    sbom = _check_sbom(statements, attachments, image, source.name)
    passed = (
        Passed(what="signature", how=f"by {key.key_id[:12]}, of {reference}"),
        Passed(what="provenance", how=f"built by {found_builder}"),
        Passed(what="SBOM", how=f"{sbom} packages, each with the hash that the provenance names"),
        Passed(what="manifest and config", how=image.digest),
        *_describe_layers(image),
        *((Passed(what="row", how=f"{source.row.id}: its label, signed name and provenance"),) if source.row else ()),
    )
    return Verification(
        subject=source.name, digest=image.digest, reference=reference, key_id=key.key_id, builder=found_builder,
        target=image.target,
        archs=tuple(image.labels.get("dev.rockiln.archs", "").split()), passed=passed,
    )  # fmt: skip


def _describe_layers(image: CheckedImage) -> Iterator[Passed]:
    if image.installed is not None:
        how = f"{image.layers}, {image.layer_bytes} bytes; their packages are those of the SBOM"
        yield Passed(what="layers", how=how)


def _require_whole(attachment: Attachment, name: str, digest: str) -> None:
    """Its manifest has the shape that is relied upon; blobs have their sizes; the subject is this image."""
    where = f"{name}: attached {attachment.digest}"
    try:
        document = attachment.document
        rows = [_require_row(row) for row in (document["config"], *document["layers"])]
        contents = [attachment.blobs[row["digest"]] for row in rows]
        subject = str((document.get("subject") or {"digest": digest})["digest"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as fault:
        raise VerificationError(f"{where}: not a manifest: {name_shape_fault(fault)}") from fault
    for row, content in zip(rows, contents, strict=True):
        if (len(content), digest_of(content)) != (row["size"], row["digest"]):
            raise VerificationError(f"{where}: {row['digest']} is another blob than the manifest names")
    if subject != digest:
        raise VerificationError(f"{where}: belongs to {subject}")


def _require_row(row: Any) -> Mapping[str, Any]:
    """A descriptor; raises ValueError for anything else."""
    said = row.get("annotations") or {}
    texts = (row["digest"], row.get("mediaType", ""), *said.keys(), *said.values())
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"not a descriptor: {str(row)[:80]}")
    return dict(row)


def _check_signature(image: CheckedImage, attachments: Sequence[Attachment], key: PublicKey, name: str) -> str:
    """The name under which the image was signed with the key."""
    reasons = []
    for payload, row in _list_layers(attachments, PAYLOAD_TYPE):
        try:
            signature = base64.b64decode(str((row.get("annotations") or {})[SIGNATURE_ANNOTATION]), validate=True)
            signed = read_payload(payload)
        except (KeyError, ValueError) as fault:
            reasons.append(f"a signature is damaged: {fault}")
            continue
        if not key.is_signed(signature, payload):
            reasons.append(f"a signature does not fit the key {key.key_id[:12]}")
        elif signed.digest != image.digest:
            reasons.append(f"what was signed is {signed.digest}")
        elif wrong := [one for one in image.names if not signed.reference.endswith(one)]:
            reasons.append(f"it is called {wrong[0]} here, and was signed as {signed.reference}")
        else:
            return signed.reference
    why = "; ".join(dict.fromkeys(reasons)) or "it is not signed"
    raise VerificationError(f"{name}: no valid signature: {why}", hint="is it the right key (--key)?")


def _check_signed_name(source: ImageSource, reference: str) -> None:
    """rockiln signs rockiln/FRAMEWORK:ID, and cosign the repository in which the image is."""
    row = source.row
    if row and reference not in {row.reference, source.name.partition("@")[0]}:
        require_row(source, "was signed as", reference)


def _check_built_row(source: ImageSource, statements: Mapping[str, Mapping[str, Any]]) -> None:
    """What the provenance says was built is the row that was asked for."""
    definition = (statements.get(PROVENANCE) or {}).get("buildDefinition")
    said = definition.get("externalParameters") if isinstance(definition, dict) else None
    if PROVENANCE in statements:
        require_row(source, "was built as", str(said.get("target", "")) if isinstance(said, dict) else "")


def _read_statements(
    image: CheckedImage, attachments: Sequence[Attachment], key: PublicKey, name: str
) -> dict[str, Mapping[str, Any]]:
    """Predicate type → predicate of what the key signed. What others say of the image (a smoke report of another
    node) counts for nothing here, unless one of ours is missing: then it is what is wrong."""
    found: dict[str, Mapping[str, Any]] = {}
    faults: list[VerificationError] = []
    for envelope, row in _list_layers(attachments, ENVELOPE_TYPE):
        said = str((row.get("annotations") or {}).get("predicateType", "statement"))
        try:
            statement = _read_statement(envelope, key, image.digest, f"{name}: the {_short(said)}")
        except VerificationError as fault:
            faults.append(fault)
        else:
            found[statement.predicate_type] = statement.predicate
    if faults and not {PROVENANCE, CYCLONEDX} <= found.keys():
        raise faults[0]
    return found


def _read_statement(envelope: bytes, key: PublicKey, digest: str, where: str) -> Statement:
    try:
        statement = read_statement(open_envelope(envelope, key, where))
    except ValueError as fault:
        raise VerificationError(f"{where}: {fault}") from fault
    if statement.digests != (digest,):
        raise VerificationError(f"{where}: is about {', '.join(statement.digests)}, not about {digest}")
    return statement


def _check_provenance(statements: Mapping[str, Mapping[str, Any]], builder: str, name: str) -> str:
    predicate = statements.get(PROVENANCE)
    if predicate is None:
        raise VerificationError(f"{name}: no provenance is attached", hint="rockiln attest attaches it")
    try:
        found = str(predicate["runDetails"]["builder"]["id"])
        list_materials(predicate)
    except (KeyError, TypeError, AttributeError) as fault:
        raise VerificationError(f"{name}: the provenance: not of SLSA's form: {name_shape_fault(fault)}") from fault
    if builder and found != builder:
        raise VerificationError(f"{name}: the provenance: built by {found}, not by {builder}")
    return found


def _check_sbom(
    statements: Mapping[str, Mapping[str, Any]], attachments: Sequence[Attachment], image: CheckedImage, name: str
) -> int:
    """Signed SBOM = attached SBOM; its hashes are the provenance's; its packages are the image's. → their number."""
    predicate = statements.get(CYCLONEDX)
    if predicate is None:
        raise VerificationError(f"{name}: no SBOM is attached", hint="rockiln attest attaches it")
    for content, _ in _list_layers(attachments, SBOM_TYPE):
        if _parse(content) != predicate:
            raise VerificationError(f"{name}: the SBOM: the attached document is not the one that was signed")
    try:
        components = list_components(predicate)
        subject = str(predicate["metadata"]["component"]["version"])
    except (KeyError, TypeError, AttributeError) as fault:
        raise VerificationError(f"{name}: the SBOM: not of our form: {name_shape_fault(fault)}") from fault
    if subject != image.digest:
        raise VerificationError(f"{name}: the SBOM: is of {subject}")
    _compare_materials(components, list_materials(statements[PROVENANCE]), name)
    if image.installed is not None:
        _compare_packages(components, {name_component(one) for one in image.installed.packages}, name)
    return len(components)


def _compare_materials(components: Mapping[str, str], materials: Mapping[str, str], name: str) -> None:
    """bom-refs begin with the owner, under which the provenance has the file."""
    wrong = [one for one, sha256 in components.items() if materials.get(one.partition(" ")[0]) != sha256]
    if wrong:
        raise VerificationError(f"{name}: the SBOM: not the hash that the provenance has: {', '.join(wrong[:_SHOWN])}")


def _compare_packages(components: Mapping[str, str], installed: set[str], name: str) -> None:
    only_there, only_here = sorted(components.keys() - installed), sorted(installed - components.keys())
    if only_there or only_here:
        what = [f"lists {', '.join(only_there[:_SHOWN])}, which the image lacks"] if only_there else []
        what += [f"lacks {', '.join(only_here[:_SHOWN])}, which the image holds"] if only_here else []
        raise VerificationError(f"{name}: the SBOM: {'; '.join(what)}")


def _parse(content: bytes) -> object:
    """Damaged JSON is equal to nothing that was signed."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _list_layers(attachments: Sequence[Attachment], media_type: str) -> Iterator[tuple[bytes, Mapping[str, Any]]]:
    for attachment in attachments:
        for row in attachment.document["layers"]:
            if row.get("mediaType") == media_type:
                yield attachment.blobs[str(row["digest"])], row


def _short(predicate_type: str) -> str:
    return {PROVENANCE: "provenance", CYCLONEDX: "SBOM"}.get(predicate_type, predicate_type)
