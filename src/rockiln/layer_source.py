"""LayerPlan → its finished layer from somewhere else, believed only where it holds what the plan says.

Who gives it need not be trusted: the archive that the plan stands for is hashed here, from the unpacked files, and so
is what the given blob unpacks to. Both together take far less time than compressing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from rockiln.compress import Scheme
from rockiln.contents import Contents
from rockiln.image import Layer
from rockiln.layers import LayerPlan
from rockiln.tar_stream import stream_tar


class LayerSource(Protocol):
    """A place that may have finished layers. No method raises: what goes wrong there is no fault of a build.

    Safe to use from several threads.
    """

    def find(self, plan: LayerPlan, scheme: Scheme) -> Layer | None:
        """What the place says the plan gave elsewhere; None where it knows of nothing, or does not answer."""

    def save(self, layer: Layer, path: Path) -> bool:
        """Bring the blob of that digest to `path`; False where that fails."""

    def refuse(self, layer: Layer, reason: str) -> None:
        """Told of a layer that is not what the place says it is."""


def take_layer(source: LayerSource, plan: LayerPlan, scheme: Scheme, contents: Contents, path: Path) -> Layer | None:
    """The plan's layer, its blob at `path`; None where it has to be written here.

    Raises IntegrityError for damaged contents of our own.
    """
    layer = source.find(plan, scheme)
    if layer is None:
        return None
    diff_id, size_bytes = _hash_pieces(stream_tar(plan.entries, contents))
    if layer.diff_id != diff_id:
        source.refuse(layer, f"it is said to hold {layer.diff_id}, and has to hold {diff_id}")
        return None
    if not source.save(layer, path):
        return None
    if path.stat().st_size != layer.size_bytes or not _unpacks_to(path, scheme, diff_id, size_bytes):
        source.refuse(layer, f"it does not hold {diff_id}")
        return None
    return layer


def _hash_pieces(pieces: Iterable[bytes], most_bytes: int | None = None) -> tuple[str, int]:
    """sha256:… and size; ends early past `most_bytes`: a small blob can unpack to anything."""
    digest, size_bytes = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size_bytes += len(piece)
        if most_bytes is not None and size_bytes > most_bytes:
            break
    return f"sha256:{digest.hexdigest()}", size_bytes


def _unpacks_to(path: Path, scheme: Scheme, diff_id: str, size_bytes: int) -> bool:
    from rockiln.unpack.decompress import DAMAGE, Section, decompress  # a build that has nothing to do needs none

    suffix = ".zst" if scheme.media_type.endswith("+zstd") else ".gz"
    with path.open("rb") as file:
        try:
            return _hash_pieces(decompress(Section(file, 0, path.stat().st_size), suffix), size_bytes)[0] == diff_id
        except DAMAGE:
            return False
