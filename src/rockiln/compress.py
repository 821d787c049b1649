"""A stream of bytes → the same, compressed in blocks of fixed size: any number of workers gives the same bytes.

Each block is a gzip member or a zstd frame of its own. Both formats say that a file may hold several, and that readers
join them (RFC 1952 §2.2, RFC 8878 §3).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass

from rockiln.image import Compression

GZIP_LEVEL = 6
ZSTD_LEVEL = 7
"""docs/image.md has the measurements that both levels, and the sizes of the blocks, come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """One way to compress."""

    tag: str
    """Names library, version and settings: two equal tags give equal bytes."""
    media_type: str
    block_bytes: int
    max_workers: int
    """More would hold too many blocks in memory at once."""
    compress: Callable[[bytes], bytes]


def compressor_versions() -> Mapping[str, str]:
    """Libraries that decide the bytes of a layer, and so every digest, as they are installed here."""
    import deflate
    import zstandard

    return {"deflate": deflate.__version__, "zstandard": zstandard.__version__}


def choose_scheme(compression: Compression) -> Scheme:
    """The scheme of that name."""
    return _gzip() if compression == "gzip" else _zstd()


def _gzip() -> Scheme:
    import deflate

    return Scheme(
        tag=f"gzip-deflate{deflate.__version__}-{GZIP_LEVEL}-4MiB",
        media_type="application/vnd.oci.image.layer.v1.tar+gzip",
        block_bytes=4 << 20,
        max_workers=16,
        compress=lambda block: bytes(deflate.gzip_compress(block, GZIP_LEVEL)),
    )


def _zstd() -> Scheme:
    import zstandard

    return Scheme(
        tag=f"zstd-zstandard{zstandard.__version__}-{ZSTD_LEVEL}-8MiB",
        media_type="application/vnd.oci.image.layer.v1.tar+zstd",
        block_bytes=8 << 20,
        max_workers=8,
        compress=lambda block: zstandard.ZstdCompressor(level=ZSTD_LEVEL, threads=0).compress(block),
    )


def cut_blocks(chunks: Iterable[bytes], block_bytes: int) -> Iterator[bytes]:
    """The same bytes in blocks of exactly `block_bytes`; the last one may be shorter."""
    held: list[bytes] = []
    missing = block_bytes
    for chunk in chunks:
        rest = chunk
        while len(rest) >= missing:
            yield b"".join((*held, rest[:missing]))
            held, missing, rest = [], block_bytes, rest[missing:]
        if rest:
            held.append(rest)
            missing -= len(rest)
    if held:
        yield b"".join(held)


def compress_blocks(blocks: Iterable[bytes], scheme: Scheme, pool: Executor, window: int) -> Iterator[bytes]:
    """Each block compressed, in order; at most `window` blocks are in memory."""
    waiting: deque[Future[bytes]] = deque()
    for block in blocks:
        waiting.append(pool.submit(scheme.compress, block))
        if len(waiting) >= window:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
