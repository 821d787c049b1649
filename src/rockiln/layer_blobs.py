"""LayerPlans → Layers: compressed blobs in the cache, written at most once for each key.

The cache holds blobs/sha256/DIGEST, and index/KEY-SCHEME.json that says which blob a key gave. A blob is complete when
it has its name, and an index entry is written after its blob: whatever ends the process leaves nothing half-written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rockiln.compress import Scheme, compress_blocks, cut_blocks
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.disk import disk_faults_named
from rockiln.image import Layer
from rockiln.layer_source import LayerSource, take_layer
from rockiln.layers import LayerPlan
from rockiln.scratch import PARTIAL, Scratch
from rockiln.sealed import read_sealed, write_sealed
from rockiln.tar_stream import stream_tar

MODE = 0o444
"""Images are hardlinks to these blobs: nobody shall write into them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCache:
    """The folder of finished blobs."""

    path: Path

    def blob_path(self, digest: str) -> Path:
        """Where the blob `sha256:…` is, or would be."""
        return self.path / "blobs" / digest.replace(":", "/")

    def find(self, plan: LayerPlan, scheme: Scheme) -> Layer | None:
        """The layer that this plan gave earlier, if its blob is still there at its full size."""
        try:
            body = read_sealed(self._index_path(plan, scheme)) or b"{}"
            layer = Layer(title=plan.title, owners=plan.owners, media_type=scheme.media_type, **json.loads(body))
            return layer if self.blob_path(layer.digest).stat().st_size == layer.size_bytes else None
        except (OSError, TypeError):
            return None

    def is_whole(self, layer: Layer) -> bool:
        """Whether the blob's bytes are still those that were written: reads all of them."""
        try:
            with self.blob_path(layer.digest).open("rb") as file:
                return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" == layer.digest
        except OSError:
            return False

    def remember(self, plan: LayerPlan, scheme: Scheme, layer: Layer) -> None:
        """Note which blob the plan gave."""
        names = ("digest", "diff_id", "size_bytes", "unpacked_bytes")
        record = {name: getattr(layer, name) for name in names}
        write_sealed(self._index_path(plan, scheme), json.dumps(record, indent=1).encode() + b"\n")

    def list_known(self, digests: Collection[str]) -> Mapping[str, Mapping[str, str | int]]:
        """KEY-SCHEME → what was noted of it, for each blob of `digests` that plans of this cache gave."""
        found = {}
        for path in sorted((self.path / "index").glob("*.json")):
            record = json.loads(read_sealed(path) or b"{}")
            if record.get("digest") in digests:
                found[path.stem] = record
        return found

    @contextmanager
    def scratch_file(self) -> Iterator[Path]:
        """A path on the cache's disk, free, for a blob that is not finished; what is left there vanishes."""
        with disk_faults_named(self.path), Scratch(self.path / PARTIAL) as folder:
            yield folder / "blob"

    def adopt(self, path: Path, digest: str) -> None:
        """Take a whole blob from a scratch file."""
        blob_path = self.blob_path(digest)
        path.chmod(MODE)
        blob_path.parent.mkdir(parents=True, exist_ok=True)
        path.replace(blob_path)

    def _index_path(self, plan: LayerPlan, scheme: Scheme) -> Path:
        return self.path / "index" / f"{plan.key}-{scheme.tag}.json"


def write_layers(
    plans: Sequence[LayerPlan], contents: Contents, cache: LayerCache, scheme: Scheme, jobs: int, console: Console,
    source: LayerSource | None = None,
) -> tuple[Layer, ...]:  # fmt: skip
    """Every plan's layer, from the cache and read again, from `source`, or written now; `jobs` at a time, the largest
    first."""
    found = [cache.find(plan, scheme) for plan in plans]
    numbers = sorted(range(len(plans)), key=lambda number: (bool(found[number]), -plans[number].unpacked_bytes))
    workers = min(max(jobs, 1), scheme.max_workers)
    writers = min(workers, 4)
    total = sum(plan.archive_bytes for plan, layer in zip(plans, found, strict=True) if layer is None)
    with (
        console.progress("layers", total, "bytes") as progress,
        ThreadPoolExecutor(workers, "compress") as pool,
        ThreadPoolExecutor(writers, "layer") as writing,
    ):
        work = _LayerWork(contents, cache, scheme, pool, window=-(-workers // writers) + 1, tell=progress.advance,
                          source=source)  # fmt: skip
        futures = {number: writing.submit(work.make, plans[number], found[number]) for number in numbers}
        try:
            for future in as_completed(futures.values()):
                future.result()
        except BaseException:
            work.is_stopped = True
            writing.shutdown(cancel_futures=True)
            raise
    return tuple(futures[number].result() for number in range(len(plans)))


class StoppedError(Exception):
    """Another layer has failed; this one is not worth finishing."""


class _LayerWork:
    """What the threads that write layers share."""

    def __init__(
        self, contents: Contents, cache: LayerCache, scheme: Scheme, pool: Executor, *, window: int,
        tell: Callable[[int], None], source: LayerSource | None,
    ) -> None:  # fmt: skip
        self._contents, self._cache, self._scheme, self._pool = contents, cache, scheme, pool
        self._window, self._tell, self._source = window, tell, source
        self.is_stopped = False

    def make(self, plan: LayerPlan, found: Layer | None) -> Layer:
        """The layer that was found, if its bytes are what they were, or the same one written anew."""
        if found and self._cache.is_whole(found):
            return found
        return (self._take(plan, self._source) if self._source else None) or self.write(plan)

    def _take(self, plan: LayerPlan, source: LayerSource) -> Layer | None:
        with self._cache.scratch_file() as path:
            layer = take_layer(source, plan, self._scheme, self._contents, path)
            if layer is None:
                return None
            self._cache.adopt(path, layer.digest)
        self._cache.remember(plan, self._scheme, layer)
        self._tell(plan.archive_bytes)
        return layer

    def write(self, plan: LayerPlan) -> Layer:
        """Write the blob and remember it."""
        content_hash, blob_hash = hashlib.sha256(), hashlib.sha256()
        with self._cache.scratch_file() as path:
            with path.open("xb") as file:
                blocks = self._hash_blocks(plan, content_hash)
                for compressed in compress_blocks(blocks, self._scheme, self._pool, self._window):
                    blob_hash.update(compressed)
                    file.write(compressed)
                size_bytes = file.tell()
            layer = Layer(
                digest=f"sha256:{blob_hash.hexdigest()}", diff_id=f"sha256:{content_hash.hexdigest()}",
                size_bytes=size_bytes, unpacked_bytes=plan.unpacked_bytes, media_type=self._scheme.media_type,
                owners=plan.owners, title=plan.title,
            )  # fmt: skip
            self._cache.adopt(path, layer.digest)
        self._cache.remember(plan, self._scheme, layer)
        return layer

    def _hash_blocks(self, plan: LayerPlan, content_hash: hashlib._Hash) -> Iterator[bytes]:
        for block in cut_blocks(stream_tar(plan.entries, self._contents), self._scheme.block_bytes):
            if self.is_stopped:
                raise StoppedError
            content_hash.update(block)
            self._tell(len(block))
            yield block
