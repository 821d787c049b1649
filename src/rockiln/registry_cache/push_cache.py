"""A built row + a repository → its layers there by their keys, and the row by its build key where it is signed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rockiln.amounts import format_bytes
from rockiln.build_key import find_finished_image
from rockiln.built_values import BUILT, read_note
from rockiln.console import Console
from rockiln.layer_blobs import LayerCache
from rockiln.publish.layout import Layout
from rockiln.publish.push import PushedBlob, push_blobs
from rockiln.registry.protocol import EMPTY_CONTENT, Manifest, Repository, source_of_bytes
from rockiln.registry_cache.layer_records import layer_tag, make_layer_manifest
from rockiln.registry_cache.row_records import make_row, pack_values, row_tag
from rockiln.sign.keys import PrivateKey


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedCache:
    """What a cache repository got of a row. With `is_dry` this is what it would get."""

    repository: str
    layers: tuple[str, ...]
    """Digests of layers that it did not know by their keys."""
    known_layers: int
    row: str
    """The tag of the whole row; "" where it was not signed, or the folder's values are those of another build."""
    blobs: tuple[PushedBlob, ...]
    is_dry: bool


def push_cache(  # noqa: PLR0913  # what it is made of, where it goes, and how
    folder: Path, layout: Layout, cache: LayerCache, repository: Repository, siblings: Sequence[str], threads: int,
    console: Console, *, private: PrivateKey | None = None, is_dry: bool = False,
) -> PushedCache:  # fmt: skip
    """Mounted from `siblings` where these have it; asked first, as a push does. Raises RegistryError."""
    image = layout.images[0]
    types = {str(item["digest"]): str(item["mediaType"]) for item in image.manifest.document["layers"]}
    known = cache.list_known(types)
    manifests = {layer_tag(name): make_layer_manifest(item, types[str(item["digest"])]) for name, item in known.items()}
    absent = {tag: item for tag, item in manifests.items() if repository.find_digest(tag) != item.digest}
    wanted = {str(item.document["layers"][0]["digest"]) for item in absent.values()}
    row = _make_row(folder, layout, repository, private)
    own = [source_of_bytes(content) for content in (EMPTY_CONTENT, *(row.blobs if row else ()))]
    sources = [source for source in image.blobs if row or source.digest in wanted]
    blobs = push_blobs("cache", [*sources, *(own if absent or row else ())], repository, siblings, threads, console,
                       is_dry=is_dry)  # fmt: skip
    tagged = {**absent, **(row.manifests if row else {})}
    for tag, manifest in () if is_dry else tagged.items():
        repository.push_manifest(manifest, "" if tag.startswith("sha256:") else tag)
    return PushedCache(
        repository=repository.name, layers=tuple(sorted(wanted)), known_layers=len(manifests) - len(absent),
        row=row.tag if row else "", blobs=blobs, is_dry=is_dry,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    tag: str
    blobs: tuple[bytes, ...]
    manifests: Mapping[str, Manifest]
    """By tag or digest, in the order in which they have to be pushed."""


def _make_row(folder: Path, layout: Layout, repository: Repository, private: PrivateKey | None) -> _Row | None:
    """None where there is no key, or where what lies in the folder is not what one build left."""
    key = str(read_note(folder / BUILT).get("key", ""))
    if private is None or not key or find_finished_image(folder, key) is None:
        return None
    image, values = layout.images[0].manifest, pack_values(folder)
    envelope, record, index = make_row(image, key, values, repository.name, private)
    if repository.find_digest(row_tag(key)) == index.digest:
        return _Row(tag=row_tag(key), blobs=(), manifests={})
    manifests = {image.digest: image, record.digest: record, row_tag(key): index}
    return _Row(tag=row_tag(key), blobs=(envelope, values), manifests=manifests)


def describe_pushed_cache(pushed: PushedCache) -> str:
    """One line."""
    ways = Counter(blob.way for blob in pushed.blobs)
    sent = format_bytes(sum(blob.size_bytes for blob in pushed.blobs if blob.way == "uploaded"))
    would = "would be " if pushed.is_dry else ""
    new = f"{len(pushed.layers)} new layers by key, {pushed.known_layers} known"
    row = ", the row by its build key" if pushed.row else ""
    return (
        f"  cache {pushed.repository}: {new}{row}; {ways['uploaded']} blobs {would}uploaded ({sent}), "
        f"{ways['mounted']} {would}mounted"
    )
