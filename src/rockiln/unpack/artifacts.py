"""Artifacts of the Store → Unpacked of each, in the same order: from the cache, or taken apart in parallel."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from packaging.version import Version

from rockiln.artifact import Artifact
from rockiln.console import Console, Progress
from rockiln.contents import Contents
from rockiln.manifest import Unpacked, decode_unpacked, encode_unpacked
from rockiln.sealed import read_sealed, write_sealed
from rockiln.store import CHUNK_BYTES, Store, require_match

UNPACKER_VERSION = 1
"""Part of the cache key: raise it whenever the same artifact would be unpacked differently."""


def unpack_artifacts(
    artifacts: Sequence[Artifact],
    store: Store,
    contents: Contents,
    unpacked_path: Path,
    python: Version,
    jobs: int,
    console: Console,
) -> tuple[Unpacked, ...]:
    """Unpack what is not unpacked yet. The first fault ends it, and the artifact at fault has no manifest then.

    IntegrityError says that a file of the store is not the locked artifact: discard it, fetch it, call again.
    """
    unpacker = _Unpacker(store=store, contents=contents, unpacked_path=unpacked_path, python=python)
    found = {artifact: unpacker.read(artifact) for artifact in artifacts}
    missing = sorted((a for a, unpacked in found.items() if unpacked is None), key=lambda a: (-a.size_bytes, a))
    if missing:
        total_bytes = sum(artifact.size_bytes for artifact in missing)
        with console.progress(f"unpack {len(missing)} packages", total_bytes, "bytes") as progress:
            found.update(_unpack_all(unpacker, missing, jobs, progress))
    return tuple(unpacked for artifact in artifacts if (unpacked := found[artifact]) is not None)


def _unpack_all(
    unpacker: _Unpacker, artifacts: Sequence[Artifact], jobs: int, progress: Progress
) -> dict[Artifact, Unpacked]:
    def unpack(artifact: Artifact) -> Unpacked:
        unpacked = unpacker.unpack(artifact)
        progress.advance(artifact.size_bytes)
        return unpacked

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="unpack") as pool:
        try:
            return dict(zip(artifacts, pool.map(unpack, artifacts), strict=True))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unpacker:
    store: Store
    contents: Contents
    unpacked_path: Path
    python: Version

    def read(self, artifact: Artifact) -> Unpacked | None:
        """The cached manifest: only if it is whole, and every content it names is there at full size."""
        body = read_sealed(self._manifest_path(artifact))
        if body is None:
            return None
        unpacked = decode_unpacked(body)
        holds = self.contents.holds
        if unpacked.artifact.owner != artifact.owner:
            return None
        if not all(holds(entry.sha256, entry.size_bytes) for entry in unpacked.entries if entry.sha256):
            return None
        return replace(unpacked, artifact=artifact)

    def unpack(self, artifact: Artifact) -> Unpacked:
        """Verify, take apart, remember."""
        try:
            file = self.store.path_of(artifact).open("rb")
        except FileNotFoundError:
            self.store.check(artifact)
            raise
        with file:
            _require_locked(artifact, file)
            unpacked = self._take_apart(artifact, file)
        write_sealed(self._manifest_path(artifact), encode_unpacked(unpacked))
        return unpacked

    def _take_apart(self, artifact: Artifact, file: BinaryIO) -> Unpacked:
        if artifact.kind == "deb":
            from rockiln.unpack.deb import unpack_deb

            return unpack_deb(artifact, file, self.contents)
        from rockiln.unpack.wheel import unpack_wheel

        return unpack_wheel(artifact, file, self.contents, self.python)

    def _manifest_path(self, artifact: Artifact) -> Path:
        python = f"-py{self.python.major}.{self.python.minor}" if artifact.kind == "wheel" else ""
        return self.unpacked_path / f"{artifact.sha256}-v{UNPACKER_VERSION}{python}.json"


def _require_locked(artifact: Artifact, file: BinaryIO) -> None:
    """Nothing is parsed before it is known to be what was locked. The same open file is read afterwards."""
    digest, size_bytes = hashlib.sha256(), 0
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
        size_bytes += len(chunk)
    require_match(artifact, (digest.hexdigest(), size_bytes), file.name)
