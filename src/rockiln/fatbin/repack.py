"""A bundle + the archs to keep → NewBundle: the pieces of the bundle that takes its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import BinaryIO

from rockiln.fatbin.bundle import Bundle, Entry, encode_table, lay_out, read_bundle
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.compressed import CompressedBundle, choose_level, make_spool, pack, unpack
from rockiln.fatbin.entry_ids import is_host, serves
from rockiln.fatbin.refusal import require
from rockiln.fatbin.section import AnyBundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Part of an open file."""

    source: ByteSource
    start: int
    size_bytes: int


Piece = bytes | Span


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBundle:
    """What is written where `old` was, and what became of its entries."""

    old: AnyBundle
    pieces: tuple[Piece, ...]
    kept: tuple[Entry, ...]
    dropped: tuple[Entry, ...]

    @property
    def size_bytes(self) -> int:
        return sum(piece_bytes(piece) for piece in self.pieces)

    @property
    def is_changed(self) -> bool:
        return bool(self.dropped)


def piece_bytes(piece: Piece) -> int:
    """How long the piece is."""
    return len(piece) if isinstance(piece, bytes) else piece.size_bytes


class Repacker:
    """Makes new bundles of one file's bundles. What it compresses lies in `spool` until the file is written."""

    def __init__(
        self, source: ByteSource, archs: AbstractSet[str], spool: BinaryIO, bundles: Sequence[AnyBundle]
    ) -> None:
        self._source, self._archs, self._spool, self._level = source, archs, spool, choose_level(bundles)

    def repack(self, old: AnyBundle) -> NewBundle:
        """The same bundle without what serves none of the archs. Raises RefusedError where nothing would be left."""
        if isinstance(old, Bundle):
            kept, dropped = self._divide(old)
            pieces = pack_raw(self._source, old, kept) if dropped else (self._whole(old),)
            return NewBundle(old=old, pieces=pieces, kept=kept, dropped=dropped)
        with make_spool() as unpacked:
            raw_source = unpack(self._source, old, unpacked)
            return self._repack_compressed(old, raw_source)

    def _repack_compressed(self, old: CompressedBundle, raw_source: ByteSource) -> NewBundle:
        raw = read_bundle(raw_source, 0, raw_source.size_bytes)
        tail = raw_source.skip_zeros(raw.size_bytes, raw_source.size_bytes)
        require(tail == raw_source.size_bytes, "unknown bytes behind a compressed bundle")
        kept, dropped = self._divide(raw)
        if not dropped:
            return NewBundle(old=old, pieces=(self._whole(old),), kept=kept, dropped=())
        pieces = pack_raw(raw_source, raw, kept)
        start = self._spool.tell()
        head, body_bytes = pack(read_pieces(pieces), sum(map(piece_bytes, pieces)), old, self._spool, self._level)
        body = Span(source=ByteSource(self._spool.fileno()), start=start, size_bytes=body_bytes)
        return NewBundle(old=old, pieces=(head, body), kept=kept, dropped=dropped)

    def _divide(self, bundle: Bundle) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
        """(kept, dropped)."""
        kept = tuple(entry for entry in bundle.entries if serves(entry.id, self._archs))
        require(kept, "a bundle without a host entry holds none of the archs")
        return kept, tuple(entry for entry in bundle.entries if entry not in kept)

    def _whole(self, old: AnyBundle) -> Span:
        return Span(source=self._source, start=old.start, size_bytes=old.size_bytes)


def pack_raw(source: ByteSource, bundle: Bundle, kept: Sequence[Entry]) -> tuple[Piece, ...]:
    """A raw bundle of the entries `kept` of `bundle`."""
    laid, size_bytes = lay_out(kept)
    table = encode_table(laid)
    pieces: list[Piece] = [table]
    place = len(table)
    for old, new in zip(kept, laid, strict=True):
        pieces.append(bytes(new.offset - place))
        pieces.append(Span(source=source, start=bundle.start + old.offset, size_bytes=old.size_bytes))
        place = new.offset + new.size_bytes
    pieces.append(bytes(size_bytes - place))
    return tuple(piece for piece in pieces if piece_bytes(piece))


def read_pieces(pieces: Iterable[Piece]) -> Iterator[bytes]:
    """Their bytes, in order."""
    for piece in pieces:
        if isinstance(piece, bytes):
            yield piece
        else:
            yield from piece.source.chunks(piece.start, piece.start + piece.size_bytes)


def holds_code(entries: Iterable[Entry]) -> bool:
    """Is there anything for a GPU among them?"""
    return any(entry.size_bytes and not is_host(entry.id) for entry in entries)
