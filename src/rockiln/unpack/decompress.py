"""A compressed section of an archive → its bytes, in small pieces, whatever a bomb would like."""

from __future__ import annotations

import bz2
import functools
import lzma
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, Protocol, cast

import zstandard
from isal import igzip_lib

PIECE_BYTES = 1 << 18
READ_BYTES = 1 << 16
"""Small enough to stay in a core's cache between decoding, hashing and writing."""
MEMORY_BYTES = 1 << 27
"""Most that a decoder may hold: xz -9 needs half of it, zstd -19 a sixteenth."""

_ISAL_ERROR = cast(type[Exception], igzip_lib.IsalError)
DAMAGE: tuple[type[Exception], ...] = (lzma.LZMAError, _ISAL_ERROR, zstandard.ZstdError, EOFError)
"""What `decompress` raises on bytes that are not what they should be."""


class Section:
    """Some consecutive bytes of a file, read once from front to back."""

    def __init__(self, file: BinaryIO, start: int, size_bytes: int) -> None:
        self._file = file
        self._position = start
        self._left = size_bytes

    def read(self, size_bytes: int = -1) -> bytes:
        """As a file's `read`; EOFError where the file ends before the section."""
        wanted = self._left if size_bytes < 0 else min(size_bytes, self._left)
        self._file.seek(self._position)
        data = self._file.read(wanted)
        if len(data) < wanted:
            raise EOFError("the archive ends early")
        self._position += wanted
        self._left -= wanted
        return data

    def chunks(self) -> Iterator[bytes]:
        """All that is left."""
        while chunk := self.read(READ_BYTES):
            yield chunk


class _Decoder(Protocol):
    """What lzma's and bz2's decompressors have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


_DECODERS: Mapping[str, Callable[[], _Decoder]] = {
    ".xz": functools.partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, MEMORY_BYTES),
    ".lzma": functools.partial(lzma.LZMADecompressor, lzma.FORMAT_ALONE, MEMORY_BYTES),
    ".gz": functools.partial(igzip_lib.IgzipDecompressor, igzip_lib.DECOMP_GZIP),
    ".bz2": bz2.BZ2Decompressor,
}


def is_known(suffix: str) -> bool:
    """Whether `decompress` takes it."""
    return suffix in {"", ".zst"} or suffix in _DECODERS


def decompress(section: Section, suffix: str) -> Iterator[bytes]:
    """Pieces of the decompressed section; `suffix` is that of its name: "", .gz, .xz, .lzma, .bz2 or .zst."""
    if suffix == "":
        return section.chunks()
    if suffix == ".zst":
        return _read_zstd(section)
    return _read_streams(section.chunks(), _DECODERS[suffix])


def inflate(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of a raw deflate stream, as zip files have them."""
    return _read_streams(chunks, functools.partial(igzip_lib.IgzipDecompressor, igzip_lib.DECOMP_DEFLATE))


def _read_streams(chunks: Iterator[bytes], make_decoder: Callable[[], _Decoder]) -> Iterator[bytes]:
    """One stream or several in a row, with zeros between them, as xz and gzip allow."""
    decoder = make_decoder()
    for chunk in chunks:
        data = chunk
        while data or not (decoder.needs_input or decoder.eof):
            if decoder.eof:
                data = data.lstrip(b"\0")
                if not data:
                    break
                decoder = make_decoder()
            if piece := _decode(decoder, data):
                yield piece
            data = decoder.unused_data if decoder.eof else b""
    if not decoder.eof:
        raise EOFError("the compressed data ends early")


def _decode(decoder: _Decoder, data: bytes) -> bytes:
    try:
        return decoder.decompress(data, PIECE_BYTES)
    except OSError as fault:  # only bz2's; nothing here reads a file
        raise EOFError(f"damaged compressed data: {fault}") from fault


def _read_zstd(section: Section) -> Iterator[bytes]:
    """Truncation is not noticed here but by the tar reader, which wants an end marker."""
    decoder = zstandard.ZstdDecompressor(max_window_size=MEMORY_BYTES)
    with decoder.stream_reader(
        cast(BinaryIO, section), read_size=READ_BYTES, read_across_frames=True, closefd=False
    ) as reader:
        while piece := reader.read(PIECE_BYTES):
            yield piece
