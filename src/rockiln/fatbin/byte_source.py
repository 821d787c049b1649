"""An open file → ByteSource: exact reads at offsets, through one small window, so that memory stays small."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rockiln.fatbin.refusal import RefusedError

CHUNK_BYTES = 1 << 20
"""How much of a file is in memory at once."""

_WINDOW_BYTES = 1 << 16


class ByteSource:
    """Bytes of a file that stays open for as long as the source is used."""

    def __init__(self, descriptor: int, size_bytes: int | None = None) -> None:
        self.descriptor = descriptor
        self.size_bytes = os.fstat(descriptor).st_size if size_bytes is None else size_bytes
        self._window = b""
        self._window_start = 0

    def read(self, start: int, size_bytes: int) -> bytes:
        """Exactly `size_bytes` bytes. Raises RefusedError where the file ends before."""
        if start < 0 or size_bytes < 0 or start + size_bytes > self.size_bytes:
            raise RefusedError(f"the file ends before offset {start:#x} + {size_bytes}")
        if size_bytes > _WINDOW_BYTES:
            return self._read_fully(start, size_bytes)
        first = start - self._window_start
        if first < 0 or first + size_bytes > len(self._window):
            self._window = self._read_fully(start, min(_WINDOW_BYTES, self.size_bytes - start))
            self._window_start, first = start, 0
        return self._window[first : first + size_bytes]

    def chunks(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to `end`, a piece at a time."""
        while start < end:
            piece = self.read(start, min(CHUNK_BYTES, end - start))
            yield piece
            start += len(piece)

    def skip_zeros(self, start: int, end: int) -> int:
        """Offset of the first byte from `start` on that is not zero; `end` where there is none."""
        for piece in self.chunks(start, end):
            rest = piece.lstrip(b"\0")
            start += len(piece) - len(rest)
            if rest:
                return start
        return end

    def _read_fully(self, start: int, size_bytes: int) -> bytes:
        pieces = []
        while size_bytes:
            piece = os.pread(self.descriptor, size_bytes, start)
            if not piece:
                raise RefusedError("the file was cut short while it was read")
            pieces.append(piece)
            start, size_bytes = start + len(piece), size_bytes - len(piece)
        return b"".join(pieces)
