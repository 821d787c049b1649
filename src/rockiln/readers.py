"""A stream that can only be read on → the same stream, hashed or counted on its way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Protocol


class Readable(Protocol):
    """A stream that can only be read on."""

    def read(self, size: int, /) -> bytes: ...


class HashedReader:
    """Passes bytes on and remembers their sha256."""

    def __init__(self, source: Readable) -> None:
        self._source, self._hash = source, hashlib.sha256()

    def read(self, size: int, /) -> bytes:
        chunk = self._source.read(size)
        self._hash.update(chunk)
        return chunk

    def hexdigest(self) -> str:
        """Of all that was read so far."""
        return self._hash.hexdigest()

    @property
    def digest(self) -> str:
        """The same as OCI writes it: https://github.com/opencontainers/image-spec/blob/main/descriptor.md#digests."""
        return f"sha256:{self.hexdigest()}"


def digest_of(content: bytes) -> str:
    """The same of bytes in memory."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_digest(text: str) -> bool:
    """Whether it may become a file's name: what a foreign document calls a digest can be a path to anywhere."""
    algorithm, _, encoded = text.partition(":")
    return algorithm == "sha256" and len(encoded) == 64 and encoded.isascii() and encoded.isalnum()


class CountedReader:
    """Passes bytes on and tells how many, piece by piece."""

    def __init__(self, source: Readable, tell: Callable[[int], None]) -> None:
        self._source, self._tell = source, tell

    def read(self, size: int, /) -> bytes:
        chunk = self._source.read(size)
        self._tell(len(chunk))
        return chunk
