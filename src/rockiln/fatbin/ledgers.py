"""Files that changed → the lists that hold their hashes, corrected: RECORD of wheels, md5sums of dpkg."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rockiln.disk import write_whole
from rockiln.fatbin.byte_source import CHUNK_BYTES
from rockiln.record_rows import read_rows

_DPKG_INFO = Path("var/lib/dpkg/info")
_MD5_HEX = 32
_HINT = "make room and let this user write there, then run the same again: it corrects the list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What the lists say of a file."""

    sha256: bytes
    md5: bytes
    size_bytes: int


ByPath = Mapping[str, Sums | None]
"""Path → what the lists say of it from now on; None: nothing, since it is gone."""


def hash_descriptor(descriptor: int) -> Sums:
    """What the lists say of an open file from now on."""
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    size_bytes = 0
    while piece := os.pread(descriptor, CHUNK_BYTES, size_bytes):
        sha256.update(piece)
        md5.update(piece)
        size_bytes += len(piece)
    return Sums(sha256=sha256.digest(), md5=md5.digest(), size_bytes=size_bytes)


def correct_ledgers(root: Path, record_paths: Iterable[Path], sums: ByPath) -> tuple[Path, ...]:
    """Rewrite the lines about the absolute paths in `sums`, and only those; the lists that were rewritten.

    Lists are looked for in the tree and in the folders above it: a package may have put files into `root` from outside.
    """
    if not sums:
        return ()
    corrected = [path for path in _find_records(root, record_paths) if _correct(path, _correct_record(path, sums))]
    for listed in _find_dpkg(root, sums):
        corrected += [path for path in listed.find_lists("md5sums") if _correct(path, _correct_md5sums(path, listed))]
        corrected += [path for path in listed.find_lists("list") if _correct(path, _shorten_list(path, listed))]
    return tuple(corrected)


def find_blocked(root: Path, record_paths: Iterable[Path], paths: Collection[Path]) -> dict[str, str]:
    """Which of `paths` have a line in a list that cannot be corrected → why it cannot."""
    sums: ByPath = dict.fromkeys(map(str, paths))
    blocked: dict[str, str] = {}
    for path in _find_records(root, record_paths):
        if obstacle := _find_obstacle(path, root):
            blocked |= {name: obstacle for name, _, _ in _read_record(path) if name in sums}
    for listed in _find_dpkg(root, sums):
        for path in (*listed.find_lists("md5sums"), *listed.find_lists("list")):
            if obstacle := _find_obstacle(path, root):
                named = (listed.find(_name_in(path, line)) for line in path.read_bytes().splitlines())
                blocked |= dict.fromkeys(filter(None, named), obstacle)
    return blocked


def _find_obstacle(path: Path, root: Path) -> str:
    """A list is written anew beside itself; one that is a link, where it leads to, if that is in the tree."""
    target = path.resolve()
    if path.is_symlink() and not target.is_relative_to(root):
        return f"{path} is a link to {target}, outside of {root}"
    return "" if os.access(target.parent, os.W_OK | os.X_OK) else f"{path} cannot be written"


def _find_records(root: Path, record_paths: Iterable[Path]) -> list[Path]:
    above = (path for folder in root.parents for path in folder.glob("*.dist-info/RECORD"))
    return sorted(path for path in {*record_paths, *above} if path.is_file())


def _find_dpkg(root: Path, sums: ByPath) -> Iterator[_Listed]:
    names = frozenset(os.fsencode(os.path.basename(name)) for name in sums)  # noqa: PTH119 - texts, not paths
    return (_Listed(system_root, sums, names) for system_root in (root, *root.parents))


def _correct(path: Path, content: bytes) -> bool:
    """Write `content` if it is new; owner and mode stay, and so does a link to the list."""
    if content == path.read_bytes():
        return False
    path = path.resolve()
    facts = path.stat()
    write_whole(path, content, facts.st_mode & 0o7777, hint=_HINT)
    with suppress(PermissionError):
        os.chown(path, facts.st_uid, facts.st_gid)
    return True


def _read_record(path: Path) -> Iterator[tuple[str, list[str], str]]:
    """(absolute path, fields, text) of each row; the path is "" in one that is no row."""
    site = str(path.parent.parent)
    for row, text in read_rows(path.read_bytes().decode("utf-8", "surrogateescape")):
        name = os.path.normpath(os.path.join(site, row[0])) if len(row) == 3 else ""  # noqa: PTH118 - 50,000 rows
        yield name, row, text


def _correct_record(path: Path, sums: ByPath) -> bytes:
    rows = (_correct_row(row, text, sums[name]) if name in sums else text for name, row, text in _read_record(path))
    return "".join(rows).encode("utf-8", "surrogateescape")


def _correct_row(row: list[str], line: str, known: Sums | None) -> str:
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

    def find_lists(self, ending: str) -> list[Path]:
        return sorted((self.system_root / _DPKG_INFO).glob(f"*.{ending}"))

    def find(self, listed: bytes) -> str:
        """The path, if it is one of those; else ""."""
        if listed.rpartition(b"/")[2] not in self.names:
            return ""
        path = _listed_path(self.system_root, os.fsdecode(listed))
        return path if path in self.sums else ""


def _name_in(path: Path, line: bytes) -> bytes:
    """The path that a line of dpkg's list at `path` is about."""
    return line.strip(b"\n").lstrip(b"/") if path.suffix == ".list" else line[_MD5_HEX + 2 :].rstrip(b"\n")


def _correct_md5sums(path: Path, listed: _Listed) -> bytes:
    return b"".join(_correct_line(path, line, listed) for line in path.read_bytes().splitlines(keepends=True))


def _correct_line(path: Path, line: bytes, listed: _Listed) -> bytes:
    found = listed.find(_name_in(path, line))
    known = listed.sums[found] if found else None
    return known.md5.hex().encode("ascii") + line[_MD5_HEX:] if known else b"" if found else line


def _shorten_list(path: Path, listed: _Listed) -> bytes:
    """dpkg's list of a package's paths, without those that are gone."""
    lines = path.read_bytes().splitlines(keepends=True)
    found = (listed.find(_name_in(path, line)) for line in lines)
    return b"".join(line for line, name in zip(lines, found, strict=True) if not name or listed.sums[name])


def _listed_path(system_root: Path, listed: str) -> str:
    """Lists may say lib/x where /lib is a link to usr/lib."""
    first, _, rest = listed.partition("/")
    top = system_root / first
    target = str(top.readlink()).strip("/") if top.is_symlink() else first
    return str(system_root / target / rest)
