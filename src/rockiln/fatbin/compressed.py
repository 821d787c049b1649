"""Bytes at an offset → a compressed bundle (CCOB v1, v2, v3), unpacked into a temporary file; and back again.

https://clang.llvm.org/docs/ClangOffloadBundler.html#compressed-offload-bundles. The hash is the low half of the
MD5 of the raw bundle.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO, Protocol, cast

import zstandard

from rockiln.fatbin.byte_source import CHUNK_BYTES, ByteSource
from rockiln.fatbin.refusal import RefusedError, require

MAGIC = b"CCOB"
ZLIB, ZSTD = 0, 1
LEVEL, BEST_LEVEL = 9, 19
BEST_UP_TO_BYTES = 1 << 26
"""Where all of a file's bundles are no more than this, the best level costs a second and takes off some percent."""
WINDOW_LOG = 27
"""128 MiB: what zstd's own tools read without being asked; a larger window is memory, so it is refused."""

_FIELDS = {1: struct.Struct("<IQ"), 2: struct.Struct("<IIQ"), 3: struct.Struct("<QQQ")}
"""Version → what follows magic, version and method: [size of the whole,] size when unpacked, hash."""

_BLOCK_RAW, _BLOCK_RLE, _BLOCK_COMPRESSED = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedBundle:
    """A compressed bundle as it lies in a file."""

    start: int
    size_bytes: int
    header_bytes: int
    version: int
    method: int
    raw_bytes: int
    digest: int


def read_compressed(source: ByteSource, start: int, limit: int) -> CompressedBundle:
    """The header at `start`; version 1 does not say how long it is, so its stream is read to its end."""
    version, method, header_bytes = read_header(source, start, limit)
    fields = _FIELDS[version]
    *size_bytes, raw_bytes, digest = fields.unpack(source.read(start + header_bytes - fields.size, fields.size))
    end = _find_end(source, start + header_bytes, limit, method)
    require(not size_bytes or start + size_bytes[0] == end, "a compressed bundle tells a wrong size")
    return CompressedBundle(
        start=start, size_bytes=end - start, header_bytes=header_bytes, version=version, method=method,
        raw_bytes=raw_bytes, digest=digest,
    )  # fmt: skip


def read_header(source: ByteSource, start: int, limit: int) -> tuple[int, int, int]:
    """(version, method, bytes of the header)."""
    head = source.read(start, min(8, limit - start))
    require(len(head) == 8 and head.startswith(MAGIC), f"no compressed bundle at offset {start:#x}")
    version, method = struct.unpack_from("<HH", head, 4)
    require(version in _FIELDS, f"compressed bundle of unknown version {version}")
    require(method in {ZLIB, ZSTD}, f"compressed bundle with unknown method {method}")
    header_bytes = len(head) + _FIELDS[version].size
    require(start + header_bytes <= limit, f"compressed bundle at offset {start:#x} is cut short")
    return version, method, header_bytes


def unpack(source: ByteSource, bundle: CompressedBundle, spool: BinaryIO) -> ByteSource:
    """The raw bundle, written to `spool`. Raises RefusedError unless size and hash are what the header tells."""
    digest = hashlib.md5(usedforsecurity=False)
    written = 0
    start, end = bundle.start + bundle.header_bytes, bundle.start + bundle.size_bytes
    for piece in _decompress(source, start, end, bundle.method):
        written += len(piece)
        require(written <= bundle.raw_bytes, "a compressed bundle unpacks to more than it tells")
        digest.update(piece)
        spool.write(piece)
    spool.flush()
    require(written == bundle.raw_bytes, "a compressed bundle unpacks to less than it tells")
    require(_low_half(digest.digest()) == bundle.digest, "a compressed bundle does not match its hash")
    return ByteSource(spool.fileno(), written)


def make_spool() -> BinaryIO:
    """A temporary file without a name: unpacked bundles can be larger than memory."""
    return tempfile.TemporaryFile(prefix="rockiln-")


def choose_level(bundles: Iterable[object]) -> int:
    """For what is made of these bundles: a file with little to compress is compressed well."""
    total_bytes = sum(one.raw_bytes for one in bundles if isinstance(one, CompressedBundle))
    return BEST_LEVEL if total_bytes <= BEST_UP_TO_BYTES else LEVEL


def pack(
    raw: Iterator[bytes], raw_bytes: int, like: CompressedBundle, spool: BinaryIO, level: int = LEVEL
) -> tuple[bytes, int]:
    """Compress a raw bundle onto the end of `spool`, as `like` is: (its header, bytes appended)."""
    digest = hashlib.md5(usedforsecurity=False)
    compressor = _make_compressor(like.method, raw_bytes, level)
    body_bytes = 0
    for piece in raw:
        digest.update(piece)
        body_bytes += spool.write(compressor.compress(piece))
    body_bytes += spool.write(compressor.flush())
    spool.flush()
    total = () if like.version == 1 else (like.header_bytes + body_bytes,)
    head = MAGIC + struct.pack("<HH", like.version, like.method)
    try:
        return head + _FIELDS[like.version].pack(*total, raw_bytes, _low_half(digest.digest())), body_bytes
    except struct.error:
        raise RefusedError(f"too large for a compressed bundle of version {like.version}") from None


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


def _make_compressor(method: int, raw_bytes: int, level: int) -> _Compressor:
    if method == ZLIB:
        return zlib.compressobj(LEVEL)
    window_log = max(10, min(WINDOW_LOG - 1, raw_bytes.bit_length()))
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level, source_size=raw_bytes, enable_ldm=True, window_log=window_log
    )
    return zstandard.ZstdCompressor(compression_params=parameters).compressobj(size=raw_bytes)


def _low_half(md5: bytes) -> int:
    return int.from_bytes(md5[:8], "little")


def _decompress(source: ByteSource, start: int, end: int, method: int) -> Iterator[bytes]:
    if method == ZLIB:
        yield from (piece for piece, _ in _inflate(source, start, end))
        return
    reader = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).stream_reader(
        cast("IO[bytes]", _Stream(source, start, end)),  # zstandard only reads
        read_size=1 << 17, read_across_frames=False
    )
    try:
        while piece := reader.read(CHUNK_BYTES):
            yield piece
    except zstandard.ZstdError as fault:
        raise RefusedError(f"a compressed bundle cannot be unpacked: {fault}") from None


class _Stream:
    """Part of a source, as zstandard wants to read it."""

    def __init__(self, source: ByteSource, start: int, end: int) -> None:
        self._source, self._place, self._end = source, start, end

    def read(self, size_bytes: int) -> bytes:
        piece = self._source.read(self._place, min(size_bytes, self._end - self._place))
        self._place += len(piece)
        return piece


def _inflate(source: ByteSource, start: int, end: int) -> Iterator[tuple[bytes, int]]:
    """(piece, offset in the source up to which it is needed)."""
    inflater = zlib.decompressobj()
    place = start
    try:
        for piece in source.chunks(start, end):
            place += len(piece)
            rest = piece
            while rest and not inflater.eof:
                yield inflater.decompress(rest, CHUNK_BYTES), place
                rest = inflater.unconsumed_tail
            if inflater.eof:
                yield inflater.flush(), place - len(inflater.unused_data)
                return
    except zlib.error as fault:
        raise RefusedError(f"a compressed bundle cannot be unpacked: {fault}") from None
    raise RefusedError("a compressed bundle is cut short")


def _find_end(source: ByteSource, start: int, limit: int, method: int) -> int:
    """Where the compressed stream that begins at `start` ends."""
    if method == ZLIB:
        return [place for _, place in _inflate(source, start, limit)][-1]
    return _find_frame_end(source, start, limit)


def _find_frame_end(source: ByteSource, start: int, limit: int) -> int:
    """A zstd frame from block to block (RFC 8878, 3.1.1): nothing has to be decompressed for that."""
    head = source.read(start, min(18, limit - start))
    try:
        place = start + zstandard.frame_header_size(head)
        has_checksum = zstandard.get_frame_parameters(head).has_checksum
    except zstandard.ZstdError as fault:
        raise RefusedError(f"a compressed bundle holds no zstd frame: {fault}") from None
    is_last = False
    while not is_last:
        require(place + 3 <= limit, "a compressed bundle is cut short")
        block = int.from_bytes(source.read(place, 3), "little")
        is_last, kind, size_bytes = bool(block & 1), block >> 1 & 3, block >> 3
        require(kind in {_BLOCK_RAW, _BLOCK_RLE, _BLOCK_COMPRESSED}, "a compressed bundle holds an unknown block")
        place += 3 + (1 if kind == _BLOCK_RLE else size_bytes)
    end = place + 4 * has_checksum
    require(end <= limit, "a compressed bundle is cut short")
    return end
