"""Files that changed → the lists that hold their hashes, corrected: RECORD of wheels, md5sums of dpkg."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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


ByPath = Mapping[str, Sums | None]
"""Path → what the lists say of it from now on; None: nothing, since it is gone."""


def correct_ledgers(
    root: Path, record_paths: Iterable[Path], changed: Collection[Path], removed: Collection[Path] = ()
) -> tuple[Path, ...]:
    """Rewrite the lines about `changed` and `removed` (absolute paths), and only those; the lists that were rewritten.

    Lists are looked for in the tree and in the folders above it: a package may have put files into `root` from outside.
    """
    if not changed and not removed:
        return ()
    sums: ByPath = {**{str(path): None for path in removed}, **{str(path): _hash_file(path) for path in changed}}
    names = frozenset(os.fsencode(os.path.basename(name)) for name in sums)  # noqa: PTH119 - texts, not paths
    records = {*record_paths, *(path for folder in root.parents for path in folder.glob("*.dist-info/RECORD"))}
    corrected = [path for path in sorted(records) if _correct(path, _correct_record(path, sums))]
    for system_root in (root, *root.parents):
        corrected += _correct_dpkg(system_root / _DPKG_INFO, _Listed(system_root, sums, names))
    return tuple(corrected)


def _correct_dpkg(folder: Path, listed: _Listed) -> list[Path]:
    sums = [path for path in sorted(folder.glob("*.md5sums")) if _correct(path, _correct_md5sums(path, listed))]
    return sums + [path for path in sorted(folder.glob("*.list")) if _correct(path, _shorten_list(path, listed))]


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


def _correct_record(path: Path, sums: ByPath) -> bytes:
    lines = path.read_bytes().decode("utf-8", "surrogateescape").splitlines(keepends=True)
    site = str(path.parent.parent)
    return "".join(_correct_row(line, site, sums) for line in lines).encode("utf-8", "surrogateescape")


def _correct_row(line: str, site: str, sums: ByPath) -> str:
    row = next(csv.reader([line]), [])
    path = os.path.normpath(os.path.join(site, row[0])) if len(row) == 3 else ""  # noqa: PTH118 - 50,000 rows
    if path not in sums:
        return line
    known = sums[path]
    if known is None:
        return ""
    digest = base64.urlsafe_b64encode(known.sha256).decode("ascii").rstrip("=")
    hashed, sized = row[1] and f"sha256={digest}", row[2] and str(known.size_bytes)  # either may have been left out
    text = io.StringIO()
    csv.writer(text, lineterminator=line[len(line.rstrip("\r\n")) :]).writerow([row[0], hashed, sized])
    return text.getvalue()


class _Listed(NamedTuple):
    """Looks up what lines of dpkg's lists are about."""

    system_root: Path
    sums: ByPath
    names: frozenset[bytes]
    """Last names of all paths in `sums`: other lines are quickly passed over."""

    def find(self, listed: bytes) -> str:
        """The path, if it is one of those; else ""."""
        if listed.rpartition(b"/")[2] not in self.names:
            return ""
        path = _listed_path(self.system_root, os.fsdecode(listed))
        return path if path in self.sums else ""


def _correct_md5sums(path: Path, listed: _Listed) -> bytes:
    return b"".join(_correct_line(line, listed) for line in path.read_bytes().splitlines(keepends=True))


def _correct_line(line: bytes, listed: _Listed) -> bytes:
    path = listed.find(line[_MD5_HEX + 2 :].rstrip(b"\n"))
    known = listed.sums[path] if path else None
    return known.md5.hex().encode("ascii") + line[_MD5_HEX:] if known else b"" if path else line


def _shorten_list(path: Path, listed: _Listed) -> bytes:
    """dpkg's list of a package's paths, without those that are gone."""
    lines = path.read_bytes().splitlines(keepends=True)
    found = (listed.find(line.strip(b"\n").lstrip(b"/")) for line in lines)
    return b"".join(line for line, name in zip(lines, found, strict=True) if not name or listed.sums[name])


def _listed_path(system_root: Path, listed: str) -> str:
    """Lists may say lib/x where /lib is a link to usr/lib."""
    first, _, rest = listed.partition("/")
    top = system_root / first
    target = str(top.readlink()).strip("/") if top.is_symlink() else first
    return str(system_root / target / rest)
