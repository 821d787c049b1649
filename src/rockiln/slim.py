"""Rootfs + drop rules → Rootfs without what the rules name; RECORD files and dpkg's lists say what is left.

Globs are pathlib's: `*` and `?` stay within one folder, `[…]` is a set, `**` as a whole part crosses folders, also
none; at the end it is everything below. The first rule that names a path, and does not keep it, drops it. A folder
that is emptied goes too, unless a rule keeps it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rockiln.contents import Contents
from rockiln.installed_lists import DPKG_INFO, find_top_links, listed_path
from rockiln.manifest import Entry
from rockiln.record_rows import read_rows
from rockiln.rootfs import Dropped, Rootfs
from rockiln.slim_rules import DropRule

NEVER = re.compile(r"(?!)")
_TOKEN = re.compile(r"\[(?P<not>!?)(?P<set>\]?[^\]]*)\]|(?P<any>\*+)|(?P<one>\?)|(?P<text>.)", re.DOTALL)


def compile_globs(globs: Iterable[str]) -> re.Pattern[str]:
    """One expression for all; use its fullmatch()."""
    translated = [_translate(glob.strip("/")) for glob in globs]
    return re.compile("|".join(translated), re.DOTALL) if translated else NEVER


def _translate(glob: str) -> str:
    """As pathlib's full_match does, which Python 3.11 and 3.12 lack."""
    named = glob.split("/")
    parts = [part for number, part in enumerate(named) if part != "**" or named[number - 1 : number] != ["**"]]
    regex = ""
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if part == "**":
            regex += ".+" if is_last else "(?:.+/)?"
        else:
            regex += ("[^/]+" if part == "*" else _translate_part(part)) + ("" if is_last else "/")
    return regex


def _translate_part(part: str) -> str:
    def translate(token: re.Match[str]) -> str:
        if token["set"] is not None:
            return f"[{'^/' if token['not'] else ''}{_escape_set(token['set'])}]"
        return "[^/]*" if token["any"] else "[^/]" if token["one"] else re.escape(token["text"])

    return _TOKEN.sub(translate, part)


def _escape_set(text: str) -> str:
    return re.sub(r"([\\\[\]^&~|])", r"\\\1", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    name: str
    paths: re.Pattern[str]
    keep: re.Pattern[str]
    owners: re.Pattern[str]

    def names(self, entry: Entry) -> bool:
        return bool(
            self.paths.fullmatch(entry.path)
            and not self.keep.fullmatch(entry.path)
            and self.owners.fullmatch(entry.owner)
        )


def drop_paths(rootfs: Rootfs, rules: Sequence[DropRule], contents: Contents) -> Rootfs:
    """The tree without what `rules` name; what went, and by which rule, is in `dropped`."""
    return remove_paths(rootfs, choose_dropped(rootfs.entries, rules), contents)


def remove_paths(rootfs: Rootfs, dropped: Mapping[str, str], contents: Contents) -> Rootfs:
    """The tree without the paths in `dropped`, which says by which rule each one goes."""
    if not dropped:
        return rootfs
    kept = {path: entry for path, entry in rootfs.entries.items() if path not in dropped}
    kept = _free_hardlinks(kept, rootfs.entries)
    kept = _rewrite_records(kept, dropped, contents)
    kept = _rewrite_dpkg_lists(kept, dropped, contents)
    gone = tuple(
        Dropped(path=path, size_bytes=entry.size_bytes, rule=dropped[path], owner=entry.owner)
        for path, entry in rootfs.entries.items()
        if path in dropped
    )
    return replace(rootfs, entries=kept, dropped=(*rootfs.dropped, *gone))


def choose_dropped(entries: Mapping[str, Entry], rules: Sequence[DropRule]) -> dict[str, str]:
    """Path → name of the rule that drops it."""
    compiled = [
        _Rule(
            name=rule.rule,
            paths=compile_globs(rule.paths),
            keep=compile_globs(rule.keep),
            owners=compile_globs(rule.owners or ("**",)),
        )
        for rule in rules
    ]
    any_rule = compile_globs(path for rule in rules for path in rule.paths)
    named = {
        path: name
        for path, entry in entries.items()
        if any_rule.fullmatch(path) and (name := next((rule.name for rule in compiled if rule.names(entry)), ""))
    }
    named |= _find_byte_code(entries, named)
    return add_emptied_folders(entries, named, compile_globs(path for rule in rules for path in rule.keep))


def _find_byte_code(entries: Mapping[str, Entry], named: Mapping[str, str]) -> dict[str, str]:
    """Byte code goes with its source."""
    found = {}
    for path, entry in entries.items():
        folder, _, name = path.rpartition("/")
        if folder.endswith("/__pycache__") and path not in named:
            rule = named.get(f"{folder.removesuffix('__pycache__')}{name.partition('.')[0]}.py")
            if rule and entry.kind != "directory":
                found[path] = rule
    return found


def add_emptied_folders(
    entries: Mapping[str, Entry], named: Mapping[str, str], keep: re.Pattern[str] = NEVER
) -> dict[str, str]:
    """With the folders that lose all they hold, and without named folders in which something is left."""
    needed: set[str] = set()
    emptied: dict[str, str] = {}
    dropped = {}
    for path in sorted(entries, reverse=True):
        folder = path.rpartition("/")[0]
        rule = named.get(path) or ("" if keep.fullmatch(path) else emptied.get(path, ""))
        if rule and path not in needed:
            dropped[path] = emptied[folder] = rule
        else:
            needed.add(folder)
    return dropped


def _free_hardlinks(kept: dict[str, Entry], entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """The first hardlink to a dropped file takes its place; the others link to that one."""
    heirs: dict[str, str] = {}
    freed = {}
    for path, entry in kept.items():
        if entry.kind == "hardlink" and entry.link not in kept:
            heir = heirs.setdefault(entry.link, path)
            target = entries[entry.link]
            freed[path] = target._replace(path=path, owner=entry.owner) if heir == path else entry._replace(link=heir)
    return {**kept, **freed}


def _rewrite_records(kept: dict[str, Entry], dropped: Mapping[str, str], contents: Contents) -> dict[str, Entry]:
    """A wheel's RECORD no longer names what went."""
    return {
        **kept,
        **{
            path: _keep_rows(entry, contents, path.rsplit("/", 2)[0], dropped)
            for path, entry in kept.items()
            if path.endswith(".dist-info/RECORD")
        },
    }


def _keep_rows(entry: Entry, contents: Contents, site_path: str, dropped: Mapping[str, str]) -> Entry:
    """A RECORD without the rows of what went."""
    text = contents.read_bytes(entry.sha256).decode("utf-8", "surrogateescape")
    left = "".join(
        line
        for row, line in read_rows(text)
        if not row or posixpath.normpath(posixpath.join(site_path, row[0])) not in dropped
    )
    return entry if left == text else _put_text(entry, contents, left)


def _rewrite_dpkg_lists(kept: dict[str, Entry], dropped: Mapping[str, str], contents: Contents) -> dict[str, Entry]:
    """dpkg's .list and .md5sums no longer name what went."""
    links = find_top_links(kept)

    def is_left(line: str) -> bool:
        return listed_path(line, links) not in dropped

    lists = (path for path in kept if path.startswith(DPKG_INFO) and path.endswith((".list", ".md5sums")))
    return {**kept, **{path: _keep_lines(kept[path], contents, is_left) for path in lists}}


def _keep_lines(entry: Entry, contents: Contents, is_left: Callable[[str], bool]) -> Entry:
    """The same file without the lines that are not left; untouched bytes where all are."""
    lines = contents.read_bytes(entry.sha256).decode("utf-8", "surrogateescape").split("\n")
    left = [line for line in lines if is_left(line)]
    return entry if len(left) == len(lines) else _put_text(entry, contents, "\n".join(left))


def _put_text(entry: Entry, contents: Contents, text: str) -> Entry:
    sha256, size_bytes = contents.put_bytes(text.encode("utf-8", "surrogateescape"))
    return entry._replace(sha256=sha256, size_bytes=size_bytes)
