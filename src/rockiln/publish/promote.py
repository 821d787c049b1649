"""A published digest that passed + Tags → Promotion: an index that says what was tested, and tags that name it.

Tags move last and one by one, each read back; the dated one first. So whenever this ends, every tag names an image
that is whole and was allowed to have it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rockiln.download.threads import map_threads
from rockiln.errors import PromotionError, RegistryError
from rockiln.image_config import TARGET_LABEL
from rockiln.publish.gate import Verdict
from rockiln.publish.layout import make_index
from rockiln.publish.tags import DATED_MEANING, ROW_MEANING, Tags, find_free_dated
from rockiln.registry.protocol import Manifest, Repository
from rockiln.shape_faults import name_shape_fault

TESTED, UNTESTED, UNSIGNED = "dev.rockiln.tested", "dev.rockiln.untested", "dev.rockiln.tested.unsigned"
STANDARD_LABELS = "org.opencontainers.image."
THREADS = 8
SignIndex = Callable[[Repository, Manifest], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """An image that is in the registry, read from there."""

    manifest: Manifest
    platform: Mapping[str, str]
    labels: Mapping[str, str]
    blobs: tuple[str, ...]

    @property
    def target_id(self) -> str:
        return self.labels.get(TARGET_LABEL, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TagMove:
    """A tag, and what it names before and after; the same twice where it does not move."""

    tag: str
    meaning: str
    before: str
    after: str

    @property
    def is_move(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """What tags name now. With `is_dry` what they would."""

    target_id: str
    reference: str
    """HOST/NAME@sha256:… of the index that the tags name."""
    tested: tuple[str, ...]
    untested: Mapping[str, str]
    tags: tuple[TagMove, ...]
    is_dry: bool = False
    is_signed: bool = False
    """Whether the index is signed; with `is_dry`, would be."""


def read_published(repository: Repository, digest: str) -> tuple[Published, ...]:
    """The images of a manifest or index. Raises RegistryError for what is no image."""
    manifest = repository.read_manifest(digest)
    if manifest is None:
        raise RegistryError(f"{repository.name} has no {digest}", hint="rockiln push TARGET puts it there")
    try:
        document: Mapping[str, Any] = manifest.document
        if "manifests" in document:
            return tuple(
                published
                for entry in document["manifests"]
                for published in read_published(repository, str(entry["digest"]))
            )
        blobs = [str(item["digest"]) for item in (document["config"], *document["layers"])]
        config = json.loads(repository.read_blob(blobs[0]))
        platform = {"architecture": str(config["architecture"]), "os": str(config["os"])}
        labels = {str(key): str(value) for key, value in (config["config"].get("Labels") or {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as fault:
        message = f"{repository.name}@{digest} is no image: {name_shape_fault(fault)}"
        raise RegistryError(message, hint="name a digest that rockiln push printed") from fault
    return (Published(manifest=manifest, platform=platform, labels=labels, blobs=tuple(dict.fromkeys(blobs))),)


def require_complete(repository: Repository, images: Sequence[Published]) -> None:
    """Every blob is there. Raises RegistryError: some registries take manifests whose layers they lack."""
    digests = tuple(dict.fromkeys(digest for image in images for digest in image.blobs))

    def look(digest: str) -> str:
        return "" if repository.has_blob(digest) else digest

    if lacking := sorted(filter(None, map_threads(look, digests, THREADS, threading.Event()))):
        message = f"{repository.name}: {len(lacking)} blobs of the image are missing: {', '.join(lacking)}"
        raise RegistryError(message, hint="rockiln push TARGET sends them; no tag was moved")


def make_promoted_index(images: Sequence[Published], verdict: Verdict) -> Manifest:
    """What tags name: the images, what they are, and what was proven of them."""
    annotations = {
        key: value for key, value in images[0].labels.items() if key.startswith(STANDARD_LABELS) or key == TARGET_LABEL
    }
    annotations |= {TESTED: ", ".join(verdict.tested)} if verdict.tested else {}
    annotations |= {UNTESTED: ", ".join(verdict.untested)} if verdict.untested else {}
    annotations |= {UNSIGNED: "true"} if verdict.has_unsigned else {}
    return make_index([(image.manifest, image.platform) for image in images], annotations)


def promote_images(
    repository: Repository, images: Sequence[Published], verdict: Verdict, tags: Tags, *, is_dry: bool = False,
    sign: SignIndex | None = None,
) -> Promotion:  # fmt: skip
    """Push the index, sign it, then move the tags to it. Whoever calls has asked `require_fit`."""
    require_complete(repository, images)
    index = make_promoted_index(images, verdict)
    moves = plan_moves(repository, index.digest, tags)
    if not is_dry:
        if not repository.find_digest(index.digest):
            repository.push_manifest(index)
        if sign:
            sign(repository, index)
        for move in moves:
            if move.is_move:
                _move(repository, index, move)
    return Promotion(
        target_id=images[0].target_id, reference=f"{repository.name}@{index.digest}", tested=verdict.tested,
        untested=verdict.untested, tags=moves, is_dry=is_dry, is_signed=sign is not None,
    )  # fmt: skip


def plan_moves(repository: Repository, digest: str, tags: Tags) -> tuple[TagMove, ...]:
    """The dated tag first. Where the row's tag names the digest already, it has a dated one, from whatever day."""
    row_before = repository.find_digest(tags.row)
    moves = []
    if row_before != digest:
        moves.append(_plan_dated(repository, digest, tags))
    moves.append(TagMove(tag=tags.row, meaning=ROW_MEANING, before=row_before, after=digest))
    for moving in tags.moving:
        before = repository.find_digest(moving.tag)
        moves.append(TagMove(tag=moving.tag, meaning=moving.meaning, before=before, after=digest))
    return tuple(moves)


def _plan_dated(repository: Repository, digest: str, tags: Tags) -> TagMove:
    """A run that was cut may have set it: then it stays."""
    known = [tag for tag in repository.list_tags() if tag == tags.dated or tag.startswith(f"{tags.dated}.")]
    for tag in known:
        if repository.find_digest(tag) == digest:
            return TagMove(tag=tag, meaning=DATED_MEANING, before=digest, after=digest)
    return TagMove(tag=find_free_dated(tags, known), meaning=DATED_MEANING, before="", after=digest)


def _move(repository: Repository, index: Manifest, move: TagMove) -> None:
    if move.meaning == DATED_MEANING and (taken := repository.find_digest(move.tag)) not in {"", index.digest}:
        message = f"{repository.name}:{move.tag} names {taken}, and a dated tag never moves"
        raise PromotionError(message, hint="somebody else promotes at this moment; run it again")
    repository.push_manifest(index, move.tag)


def describe_promotion(promotion: Promotion) -> str:
    """The reference on a line of its own, what was proven, then a line a tag."""
    lines = [promotion.reference, f"  tested: {', '.join(promotion.tested) or 'nothing'}"]
    lines += [f"  untested: {part}: {reason}" for part, reason in promotion.untested.items()]
    if promotion.is_signed:
        lines.append(f"  the index {'would be' if promotion.is_dry else 'is'} signed")
    moved = [move for move in promotion.tags if move.is_move]
    would = "would move" if promotion.is_dry else "moved"
    for move in moved:
        came = f"{would} from {move.before[:19]}…" if move.before else ("would be new" if promotion.is_dry else "new")
        lines.append(f"  {move.tag}: {came} ({move.meaning})")
    if not moved:
        lines.append(f"  no tag moves: {', '.join(move.tag for move in promotion.tags)} named this image already")
    return "\n".join(lines)
