"""Files of a tree whose bytes changed → the lists of installed files that hold their hashes, corrected.

RECORD of wheels (sha256, size) and dpkg's .md5sums. Only lines about changed files change.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
from collections.abc import Callable, Mapping

from rockiln.contents import Content, Contents
from rockiln.manifest import Entry
from rockiln.record_rows import read_rows

DPKG_INFO = "var/lib/dpkg/info/"
_MD5_HEX = 32

Correct = Callable[[str], str]
"""A list's text → the same with what is true now."""


def change_contents(
    entries: Mapping[str, Entry], changed: Mapping[str, Content], contents: Contents
) -> dict[str, Entry]:
    """The same tree with new bytes at the paths `changed`, and with lists that say so."""
    replaced = {
        path: entries[path]._replace(sha256=content.sha256, size_bytes=content.size_bytes)
        for path, content in changed.items()
    }
    hardlinks = {
        path: changed[entry.link]
        for path, entry in entries.items()
        if entry.kind == "hardlink" and entry.link in changed
    }
    return {**entries, **replaced, **_correct_lists(entries, {**changed, **hardlinks}, contents)}


def listed_path(line: str, links: Mapping[str, str]) -> str:
    """The image path that a line of dpkg's is about: "/bin/ls", or "HASH  bin/ls"; /bin is a link to usr/bin."""
    path = line if line.startswith("/") else line[_MD5_HEX + 2 :]
    first, _, rest = path.strip("/").partition("/")
    return f"{links.get(first, first).strip('/')}/{rest}" if rest else first


def find_top_links(entries: Mapping[str, Entry]) -> dict[str, str]:
    """Links at the top of the tree, e.g. bin → usr/bin."""
    return {path: entry.link for path, entry in entries.items() if entry.kind == "symlink" and "/" not in path}


def _correct_lists(
    entries: Mapping[str, Entry], changed: Mapping[str, Content], contents: Contents
) -> dict[str, Entry]:
    owners = {entries[path].owner for path in changed}
    links = find_top_links(entries)
    corrected = {}
    for path, entry in entries.items():
        if entry.owner in owners and (correct := _choose_corrector(path, links, changed, contents)):
            corrected[path] = _rewrite(entry, contents, correct)
    return corrected


def _choose_corrector(
    path: str, links: Mapping[str, str], changed: Mapping[str, Content], contents: Contents
) -> Correct | None:
    if path.endswith(".dist-info/RECORD"):
        site_path = path.rsplit("/", 2)[0]
        return lambda text: "".join(_correct_row(row, line, site_path, changed) for row, line in read_rows(text))
    if path.startswith(DPKG_INFO) and path.endswith(".md5sums"):
        return lambda text: "\n".join(_correct_sum(line, links, changed, contents) for line in text.split("\n"))
    return None


def _rewrite(entry: Entry, contents: Contents, correct: Correct) -> Entry:
    text = correct(contents.read_bytes(entry.sha256).decode("utf-8", "surrogateescape"))
    sha256, size_bytes = contents.put_bytes(text.encode("utf-8", "surrogateescape"))
    return entry._replace(sha256=sha256, size_bytes=size_bytes)


def _correct_row(row: list[str], line: str, site_path: str, changed: Mapping[str, Content]) -> str:
    content = changed.get(posixpath.normpath(posixpath.join(site_path, row[0]))) if len(row) == 3 else None
    if content is None:
        return line
    digest = base64.urlsafe_b64encode(bytes.fromhex(content.sha256)).decode().rstrip("=")
    name = line.rstrip("\r\n").removesuffix(f",{row[1]},{row[2]}")
    return f"{name},sha256={digest},{content.size_bytes}" + line[len(line.rstrip("\r\n")) :]


def _correct_sum(line: str, links: Mapping[str, str], changed: Mapping[str, Content], contents: Contents) -> str:
    content = changed.get(listed_path(line, links))
    if content is None:
        return line
    with contents.open(content.sha256) as file:
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False))
    return digest.hexdigest() + line[_MD5_HEX:]
