"""A row, its pushed image and its tags → Preview: what `publish` would do after the push, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rockiln.publish.tags import DATED_MEANING, ROW_MEANING, Tags, find_free_dated
from rockiln.registry.protocol import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Nothing of it has happened."""

    has_statements: bool
    """Whether signature, provenance and SBOM go along."""
    tiers: tuple[str, ...]
    """Tiers that would be smoked here; none where all that is required has passed on this digest."""
    is_signed: bool
    """Whether result and index would be signed."""
    tags: Mapping[str, str]
    """Tag → meaning."""
    before: Mapping[str, str]
    """Tag → the digest that it names today; "" for a new one."""


def list_tags(repository: Repository, tags: Tags) -> tuple[dict[str, str], dict[str, str]]:
    """Tag → meaning, and tag → what it names today; the dated one first, as they would move."""
    dated = find_free_dated(tags, repository.list_tags())
    meanings = {dated: DATED_MEANING, tags.row: ROW_MEANING} | {one.tag: one.meaning for one in tags.moving}
    return meanings, {tag: repository.find_digest(tag) for tag in meanings}


def describe_preview(preview: Preview) -> str:
    """A line a step, in the order of the steps."""
    return "\n".join(f"  {line}" for line in _list_lines(preview))


def _list_lines(preview: Preview) -> Iterator[str]:
    what = "signature, provenance and SBOM" if preview.has_statements else "no signature, provenance or SBOM"
    yield f"{what} would go along"
    signed = "signed" if preview.is_signed else "unsigned"
    if preview.tiers:
        yield f"would be smoked here: {', '.join(preview.tiers)}; the result would be attached, {signed}"
    else:
        yield "would not be smoked: its required tiers have passed on this digest"
    yield f"if all that is required has passed, an index would be pushed ({signed}), and named by these tags:"
    for tag, meaning in preview.tags.items():
        before = preview.before[tag]
        yield f"{tag}: {f'names {before[:19]}… today' if before else 'would be new'} ({meaning})"
