"""A layer's bytes, as a stream → LayerScan: its paths and what its files tell. Nothing of it is unpacked.

A file with code is written to a nameless temporary file while it is looked at; all others pass through memory.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

from isal import igzip

from rockiln.audit.inspect_file import NOTHING, FileFacts, Wanted, inspect_file, wants_content
from rockiln.audit.installed.tree import Node, NodeKind
from rockiln.errors import ImageError
from rockiln.kernel_data.content import HEAD_BYTES, sniff
from rockiln.layer_paths import Whiteouts, clean_path
from rockiln.readers import HashedReader, Readable
from rockiln.unpack.decompress import DAMAGE

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

_TAR_BUFFER_BYTES = 1 << 16
_COPY_BYTES = 1 << 20
_IN_MEMORY_BYTES = 4 << 20
_MAX_DEPTH = 256
"""Folders in each other; no file system of an image comes near."""
_KINDS: dict[bytes, NodeKind] = {tarfile.DIRTYPE: "directory", tarfile.SYMTYPE: "symlink", tarfile.LNKTYPE: "hardlink"}
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
STREAM_FAULTS: tuple[type[Exception], ...] = (*DAMAGE, tarfile.TarError, zlib.error, OSError, ValueError)
"""What tar streams and their decompressors raise where the bytes are not what they should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerScan:
    """One layer. Whiteouts are apart: they take away what earlier layers brought."""

    nodes: tuple[Node, ...]
    facts: dict[str, FileFacts]
    removed: tuple[str, ...]
    emptied: tuple[str, ...]
    """Folders of which nothing from earlier layers is seen."""


def scan_layer(stream: Readable, wanted: Wanted, name: str) -> LayerScan:
    """Read the whole layer once. Raises ImageError where it is damaged."""
    nodes: list[Node] = []
    facts: dict[str, FileFacts] = {}
    whiteouts = Whiteouts()
    try:
        for member, archive in _walk(open_decompressed(stream)):
            path = _clean(member.name, name)
            if not whiteouts.take(path) and path and (node := _make_node(member, path, name)):
                nodes.append(node)
                if node.kind == "file" and (found := _inspect(member, archive, path, wanted)) != NOTHING:
                    facts[path] = found
    except STREAM_FAULTS as fault:
        raise ImageError(f"{name}: cannot read the layer: {name_fault(fault)}", hint="is the image whole?") from fault
    return LayerScan(
        nodes=tuple(nodes), facts=facts, removed=tuple(whiteouts.removed), emptied=tuple(whiteouts.emptied)
    )


def visit_members(stream: Readable, name: str, visit: Callable[[tarfile.TarInfo, tarfile.TarFile], None]) -> str:
    """Show each member once, to the last byte → sha256:… of the tar stream. Raises ImageError for damage."""
    content = HashedReader(open_decompressed(stream))
    try:
        for member, archive in _walk(content):
            visit(member, archive)
    except STREAM_FAULTS as fault:
        raise ImageError(f"{name}: cannot read the layer: {name_fault(fault)}", hint="is the image whole?") from fault
    return content.digest


def name_fault(fault: Exception) -> str:
    """In one line. tarfile's own list of every format that it tried is of no use to anybody."""
    text = str(fault)
    return "it is no tar archive" if "\n" in text else text


def open_decompressed(stream: Readable) -> Readable:
    """The tar stream in a layer, by its first bytes: media types of older images are not to be relied upon."""
    ahead = Ahead(stream)
    head = ahead.peek(4)
    if head.startswith(GZIP):
        open_gzip = cast("Callable[[io.BufferedReader, str], Readable]", igzip.open)
        return open_gzip(io.BufferedReader(ahead), "rb")
    if head == ZSTD:
        import zstandard

        return cast(
            "Readable",
            zstandard.ZstdDecompressor().stream_reader(cast("BinaryIO", ahead), read_across_frames=True),
        )
    return ahead


class Ahead(io.RawIOBase):
    """A stream whose first bytes can be looked at before they are read."""

    def __init__(self, stream: Readable) -> None:
        self._stream, self._held = stream, b""

    def readable(self) -> bool:
        return True

    def peek(self, size_bytes: int) -> bytes:
        """At most so many of the next bytes; less only at the end."""
        while len(self._held) < size_bytes and (more := self._stream.read(size_bytes - len(self._held))):
            self._held += more
        return self._held[:size_bytes]

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        piece = self.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def read(self, size_bytes: int = -1, /) -> bytes:
        if size_bytes < 0:
            return b"".join(iter(lambda: self.read(_COPY_BYTES), b""))
        if self._held:
            piece, self._held = self._held[:size_bytes], self._held[size_bytes:]
            return piece
        return self._stream.read(size_bytes)


def _walk(content: Readable) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    with tarfile.open(fileobj=content, mode="r|", bufsize=_TAR_BUFFER_BYTES) as archive:  # type: ignore[call-overload]  # a stream needs read only
        for member in archive:
            yield member, archive
            archive.members.clear()  # else an index of everything read grows
    while content.read(_COPY_BYTES):
        pass


def _clean(path: str, name: str) -> str:
    try:
        cleaned = clean_path(path)
    except ValueError as fault:
        raise ImageError(f"{name}: {fault}", hint="no honest image has such a path") from fault
    depth = cleaned.count("/") + 1
    if depth > _MAX_DEPTH:
        raise ImageError(f"{name}: {depth} folders in each other", hint="no honest image has such a path")
    return cleaned


def _make_node(member: tarfile.TarInfo, path: str, name: str) -> Node | None:
    """None for devices and pipes, which no audit asks about."""
    kind: NodeKind | None = "file" if member.isreg() else _KINDS.get(member.type)
    if kind is None:
        return None
    link = _clean(member.linkname, name) if kind == "hardlink" else member.linkname
    return Node(path, kind, member.mode & 0o7777, member.size if kind == "file" else 0, link, "")


def _inspect(member: tarfile.TarInfo, archive: tarfile.TarFile, path: str, wanted: Wanted) -> FileFacts:
    source = archive.extractfile(member)
    if source is None:
        return NOTHING
    ahead = Ahead(cast("Readable", source))
    is_code = sniff(ahead.peek(HEAD_BYTES)) != "other"
    if not is_code and not wants_content(path, member.size, wanted):
        return NOTHING
    with _spool(ahead, in_memory=not is_code and member.size <= _IN_MEMORY_BYTES) as file:
        return inspect_file(path, member.size, file, wanted)


@contextmanager
def _spool(stream: Readable, *, in_memory: bool) -> Iterator[BinaryIO]:
    with io.BytesIO() if in_memory else tempfile.TemporaryFile(prefix="rockiln-") as file:
        while chunk := stream.read(_COPY_BYTES):
            file.write(chunk)
        file.flush()
        file.seek(0)
        yield cast("BinaryIO", file)


def hide(facts: FileFacts, layer: int) -> FileFacts:
    """The leaks of a file that a later layer hides: whoever pulls the image can still read them."""
    return FileFacts(
        leaks=tuple(
            leak._replace(evidence=f"{leak.evidence} (in layer {layer}, hidden by a later one)") for leak in facts.leaks
        )
    )
