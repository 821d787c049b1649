"""Pieces of a decompressed tar archive → its members, within a limit, by the rules dpkg reads debs with."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO, Self, cast

LONGEST_NAME_BYTES = 1 << 14
"""Most that a GNU long name or link may claim: tarfile reads it into memory at once."""

_HEADERS = frozenset({
    tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE,
    tarfile.BLKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
})  # fmt: skip

DAMAGE: tuple[type[Exception], ...] = (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError)
"""What tarfile and TarBytes raise on bytes that are not a tar archive, or too many."""


class TarBytes:
    """Pieces as a file that is read forwards only; counts what comes out of the decompressor."""

    def __init__(self, pieces: Iterator[bytes], limit_bytes: int) -> None:
        self._pieces = pieces
        self._limit_bytes = limit_bytes
        self._piece = b""
        self._start = 0
        self._position = 0
        self._seen_bytes = 0

    def read(self, size_bytes: int) -> bytes:
        """As a file's `read`: shorter only at the end."""
        end = self._start + size_bytes
        if end <= len(self._piece):
            data = self._piece[self._start : end]
            self._start = end
            self._position += size_bytes
            return data
        return b"".join(self._take(size_bytes))

    def take(self, size_bytes: int) -> Iterator[bytes]:
        """Exactly the next bytes, in pieces; EOFError where there are fewer."""
        end = self._position + size_bytes
        yield from self._take(size_bytes)
        if self._position < end:
            raise EOFError("the archive ends early")

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> None:
        """Forwards."""
        if position < self._position:
            raise ValueError("the archive points backwards")
        for _ in self._take(position - self._position):
            pass

    def drain(self) -> None:
        """Read to the end, so that the decompressor verifies its own checks."""
        while self._next_piece():
            pass

    def allows(self, size_bytes: int) -> bool:
        """Whether so many more bytes stay within the limit."""
        return self._position + size_bytes <= self._limit_bytes

    def _take(self, size_bytes: int) -> Iterator[bytes]:
        while size_bytes > 0 and (self._start < len(self._piece) or self._next_piece()):
            data = self._piece[self._start : self._start + size_bytes]
            self._start += len(data)
            self._position += len(data)
            size_bytes -= len(data)
            yield data

    def _next_piece(self) -> bool:
        self._piece = next(self._pieces, b"")
        self._start = 0
        self._seen_bytes += len(self._piece)
        if self._seen_bytes > self._limit_bytes:
            raise ValueError(f"unpacks to more than {self._limit_bytes} bytes")
        return bool(self._piece)


class TarMember(tarfile.TarInfo):
    """A header. Refuses, before tarfile acts on it, what dpkg refuses as well: pax, sparse, multi-volume, garbage."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> Self:
        """tarfile takes a damaged header, and none at all, for the end of the archive."""
        try:
            member = super().frombuf(buf, encoding or "utf-8", errors)
        except tarfile.HeaderError as fault:
            if not buf or any(buf):
                raise EOFError(f"no end marker, or a damaged header: {fault}") from fault
            raise
        if member.type not in _HEADERS:
            raise ValueError(f"tar header of type {member.type!r}, which Debian packages do not have")
        is_long_name = member.type in {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
        if member.size < 0 or (is_long_name and member.size > LONGEST_NAME_BYTES):
            raise ValueError(f"impossible size {member.size}")
        return member


def read_tar(stream: TarBytes) -> Iterator[tarfile.TarInfo]:
    """Each member; its bytes come next from `stream`."""
    with tarfile.TarFile(
        fileobj=cast(IO[bytes], stream), mode="r", tarinfo=TarMember, encoding="utf-8", errors="surrogateescape"
    ) as archive:
        yield from archive
    stream.drain()
