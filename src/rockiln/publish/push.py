"""Layout + Repository → Pushed: every blob there, then the manifests, by digest. No tag is touched."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rockiln.amounts import format_bytes
from rockiln.console import Console, Progress
from rockiln.download.threads import map_threads
from rockiln.errors import CredentialsError, RegistryError
from rockiln.publish.layout import Layout
from rockiln.registry.protocol import BlobSource, Manifest, Repository

Way = Literal["there", "mounted", "uploaded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedBlob:
    """How a blob came to be in the repository."""

    digest: str
    size_bytes: int
    way: Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """A target in a registry. With `is_dry` this is what a push would do."""

    target_id: str
    reference: str
    """HOST/NAME@sha256:…"""
    blobs: tuple[PushedBlob, ...]
    manifests: tuple[str, ...]
    """Digests of the manifests that were not there before."""
    is_dry: bool = False
    attached: tuple[str, ...] = ()
    """Digests of the statements that lie beside the image: signature, provenance and SBOM."""

    @property
    def moved_bytes(self) -> int:
        """Bytes of blobs that went over the network."""
        return sum(blob.size_bytes for blob in self.blobs if blob.way == "uploaded")


def push_layout(
    layout: Layout, repository: Repository, siblings: Sequence[str], threads: int, console: Console, *,
    is_dry: bool = False,
) -> Pushed:  # fmt: skip
    """Ask first, then mount from `siblings` (repositories of the same registry), then upload. Raises RegistryError."""
    blobs = push_blobs(f"push {layout.target_id}", layout.blobs, repository, siblings, threads, console, is_dry=is_dry)
    manifests = [*(image.manifest for image in layout.images), *filter(None, (layout.index,))]
    return Pushed(
        target_id=layout.target_id,
        reference=f"{repository.name}@{layout.digest}",
        blobs=blobs,
        manifests=tuple(_push_manifests(manifests, repository, is_dry=is_dry)),
        is_dry=is_dry,
    )


def push_blobs(
    title: str, sources: Sequence[BlobSource], repository: Repository, siblings: Sequence[str], threads: int,
    console: Console, *, is_dry: bool = False,
) -> tuple[PushedBlob, ...]:  # fmt: skip
    """Each blob there, mounted from `siblings` or uploaded, `threads` at a time. Raises RegistryError."""
    readable = [name for name in siblings if sources and _is_readable(repository.sibling(name), sources[0].digest)]
    ended = threading.Event()
    with console.progress(title, sum(source.size_bytes for source in sources), "bytes") as progress:

        def push(source: BlobSource) -> PushedBlob:
            way = _push_blob(source, repository, readable, progress, is_dry=is_dry)
            return PushedBlob(digest=source.digest, size_bytes=source.size_bytes, way=way)

        blobs = list(map_threads(push, sources, threads, ended))
    return tuple(sorted(blobs, key=lambda blob: blob.digest))


def _push_manifests(manifests: Sequence[Manifest], repository: Repository, *, is_dry: bool) -> list[str]:
    absent = [manifest for manifest in manifests if not repository.find_digest(manifest.digest)]
    for manifest in () if is_dry else absent:
        repository.push_manifest(manifest)
    return [manifest.digest for manifest in absent]


def _push_blob(
    source: BlobSource, repository: Repository, siblings: Sequence[str], progress: Progress, *, is_dry: bool
) -> Way:  # fmt: skip
    if repository.has_blob(source.digest):
        progress.advance(source.size_bytes)
        return "there"
    for sibling in siblings:
        is_held = repository.sibling(sibling).has_blob(source.digest)
        if is_held and (is_dry or _mount(repository, source.digest, sibling)):
            progress.advance(source.size_bytes)
            return "mounted"
    if not is_dry:
        repository.push_blob(source, progress.advance)
        if not repository.has_blob(source.digest):
            message = f"{repository.name} took {source.digest}, and does not have it"
            raise RegistryError(message, hint="is a proxy in between? No tag was moved")
    return "uploaded"


def _is_readable(sibling: Repository, digest: str) -> bool:
    """Asked once: a repository that may not be read from holds nothing for us."""
    try:
        sibling.has_blob(digest)
    except CredentialsError:
        return False
    return True


def _mount(repository: Repository, digest: str, sibling: str) -> bool:
    return repository.mount_blob(digest, sibling) and repository.has_blob(digest)


def describe_pushed(pushed: Pushed) -> str:
    """The reference on a line of its own, and what went."""
    return _describe_blobs(pushed) + ("\n  signature, provenance and SBOM are attached" if pushed.attached else "")


def _describe_blobs(pushed: Pushed) -> str:
    counts = Counter(blob.way for blob in pushed.blobs)
    total = format_bytes(sum(blob.size_bytes for blob in pushed.blobs))
    if not pushed.manifests and set(counts) <= {"there"}:
        there = f"{counts['there']} blobs ({total}) and the manifest are there"
        return f"{pushed.reference}\n  nothing to send of the image: {there}"
    would = "would be " if pushed.is_dry else ""
    return (
        f"{pushed.reference}\n  {len(pushed.blobs)} blobs ({total}): {counts['uploaded']} {would}uploaded "
        f"({format_bytes(pushed.moved_bytes)}), {counts['mounted']} {would}mounted from another repository, "
        f"{counts['there']} there already"
    )
