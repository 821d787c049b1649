"""Bytes of a pack → whether they are those that it was made with. A first call waits for this: it imports little."""

from __future__ import annotations

import hashlib
from pathlib import Path

INDEX_NAME = "index.bin"
_INDEX_HEAD_BYTES, _MANIFEST_AT = 72, 40
_DIGEST_BYTES = 32


def hash_file(path: Path) -> str:
    """sha256, in hex. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_code_fault(folder: Path, file: str, sha256: str) -> str:
    """What is wrong with a code object of a pack; "" if it is the one of that sha256."""
    try:
        found = hash_file(folder / file)
    except OSError as error:
        return f"{file} cannot be read ({error.strerror})"
    return "" if found == sha256 else f"{file} has other bytes than its sha256 says"


def seal_index(head: bytes, rest: bytes) -> bytes:
    """index.bin: between its head and the rest stands the sha256 of both."""
    return head + hashlib.sha256(head + rest).digest() + rest


def find_index_fault(content: bytes, manifest_sha256: str) -> str:
    """What is wrong with an index.bin that is to be of the manifest of that hash; "" if nothing is."""
    head, rest = content[:_INDEX_HEAD_BYTES], content[_INDEX_HEAD_BYTES + _DIGEST_BYTES :]
    if content != seal_index(head, rest):
        return f"{INDEX_NAME} has other bytes than its sha256 says"
    of_manifest = head[_MANIFEST_AT : _MANIFEST_AT + _DIGEST_BYTES].hex()
    return "" if of_manifest == manifest_sha256 else f"{INDEX_NAME} is of another manifest.json"


def seal_lines(lines: bytes) -> bytes:
    """A text of lines, and as its last line the sha256 of those before."""
    return lines + _make_last_line(lines)


def are_lines_sealed(content: bytes) -> bool:
    """Whether `content` is what `seal_lines` made."""
    end = content.rfind(b"\n", 0, -1) + 1
    return content[end:] == _make_last_line(memoryview(content)[:end])


def _make_last_line(lines: bytes | memoryview) -> bytes:
    return b'{"sha256":"%s"}\n' % hashlib.sha256(lines).hexdigest().encode()
