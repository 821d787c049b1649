"""Files that changed → the lists that hold their hashes, corrected: RECORD of wheels, md5sums of dpkg."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rockiln.disk import write_whole
from rockiln.fatbin.byte_source import CHUNK_BYTES

_DPKG_INFO = Path("var/lib/dpkg/info")
_MD5_HEX = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What the lists say of a file."""

    sha256: bytes
    md5: bytes
    size_bytes: int


def correct_ledgers(root: Path, record_paths: Iterable[Path], changed: Collection[Path]) -> tuple[Path, ...]:
    """Rewrite the lines about `changed` (absolute paths), and only those; the lists that were rewritten.

    Lists are looked for in the tree and in the folders above it: a package may have put files into `root` from outside.
    """
    if not changed:
        return ()
    sums = {str(path): _hash_file(path) for path in changed}
    records = {*record_paths, *(path for folder in root.parents for path in folder.glob("*.dist-info/RECORD"))}
    corrected = [path for path in sorted(records) if _correct(path, _correct_record(path, sums))]
    for system_root in (root, *root.parents):
        lists = sorted((system_root / _DPKG_INFO).glob("*.md5sums"))
        corrected += [path for path in lists if _correct(path, _correct_md5sums(path, system_root, sums))]
    return tuple(corrected)


def _hash_file(path: Path) -> Sums:
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            sha256.update(piece)
            md5.update(piece)
        return Sums(sha256=sha256.digest(), md5=md5.digest(), size_bytes=file.tell())


def _correct(path: Path, content: bytes) -> bool:
    """Write `content` if it is new; owner and mode stay."""
    if content == path.read_bytes():
        return False
    facts = path.stat()
    write_whole(path, content, facts.st_mode & 0o7777)
    with suppress(PermissionError):
        os.chown(path, facts.st_uid, facts.st_gid)
    return True


def _correct_record(path: Path, sums: dict[str, Sums]) -> bytes:
    lines = path.read_bytes().decode("utf-8", "surrogateescape").splitlines(keepends=True)
    site = str(path.parent.parent)
    return "".join(_correct_row(line, site, sums) for line in lines).encode("utf-8", "surrogateescape")


def _correct_row(line: str, site: str, sums: dict[str, Sums]) -> str:
    row = next(csv.reader([line]), [])
    known = sums.get(os.path.normpath(os.path.join(site, row[0]))) if len(row) == 3 else None  # noqa: PTH118 - 50,000 rows
    if known is None:
        return line
    digest = base64.urlsafe_b64encode(known.sha256).decode("ascii").rstrip("=")
    hashed, sized = row[1] and f"sha256={digest}", row[2] and str(known.size_bytes)  # either may have been left out
    text = io.StringIO()
    csv.writer(text, lineterminator=line[len(line.rstrip("\r\n")) :]).writerow([row[0], hashed, sized])
    return text.getvalue()


def _correct_md5sums(path: Path, system_root: Path, sums: dict[str, Sums]) -> bytes:
    content = path.read_bytes()
    names = {os.fsencode(os.path.basename(name)) for name in sums}  # noqa: PTH119 - texts, not paths
    if not any(name in content for name in names):
        return content
    return b"".join(_correct_lines(content, system_root, sums))


def _correct_lines(content: bytes, system_root: Path, sums: dict[str, Sums]) -> Iterator[bytes]:
    for line in content.splitlines(keepends=True):
        listed = os.fsdecode(line[_MD5_HEX + 2 :].rstrip(b"\n"))
        known = sums.get(_listed_path(system_root, listed))
        yield known.md5.hex().encode("ascii") + line[_MD5_HEX:] if known else line


def _listed_path(system_root: Path, listed: str) -> str:
    """Lists may say lib/x where /lib is a link to usr/lib."""
    first, _, rest = listed.partition("/")
    top = system_root / first
    target = str(top.readlink()).strip("/") if top.is_symlink() else first
    return str(system_root / target / rest)
