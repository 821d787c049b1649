"""Rootfs + share rules → Rootfs in which files with equal bytes are there once, and links stand in the other places.

Within one owner's files: hardlinks, which are files like any other to whoever opens them. Between owners, whose layers
are written one by one: symlinks, and only where a rule names the folders that are led to. Only equal sha256 counts.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rockiln.manifest import Entry
from rockiln.rootfs import Rootfs
from rockiln.slim import NEVER, compile_globs
from rockiln.slim_rules import ShareRule

LEAST_BYTES = 1 << 16
"""Smaller files are not worth a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """A path that became a link."""

    path: str
    owner: str
    size_bytes: int
    rule: str
    link: str
    """Path of the file that holds the bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The tree with links, and what became one."""

    rootfs: Rootfs
    files: tuple[SharedFile, ...] = ()


class _Rule(NamedTuple):
    name: str
    paths: re.Pattern[str]
    keep: re.Pattern[str]
    owners: re.Pattern[str]
    leads_to: re.Pattern[str] | None

    def names(self, entry: Entry) -> bool:
        return bool(
            self.paths.fullmatch(entry.path)
            and not self.keep.fullmatch(entry.path)
            and self.owners.fullmatch(entry.owner)
        )


def share_equal(rootfs: Rootfs, rules: Sequence[ShareRule]) -> Shared:
    """A path is linked by the first rule that can."""
    entries = dict(rootfs.entries)
    targets = {entry.link for entry in entries.values() if entry.kind == "hardlink"}
    shared: list[SharedFile] = []
    for rule in map(_compile, rules):
        equal = [group for group in _group_equal(entries.values()).values() if len(group) > 1]
        for path, link in _find_links(rule, equal, targets):
            entry = entries[path]
            entries[path] = _make_link(entry, link, is_hard=rule.leads_to is None)
            found = SharedFile(path=path, owner=entry.owner, size_bytes=entry.size_bytes, rule=rule.name, link=link)
            shared.append(found)
    files = tuple(sorted(shared, key=lambda one: one.path))
    return Shared(rootfs=replace(rootfs, entries=entries), files=files)


def _compile(rule: ShareRule) -> _Rule:
    owners = compile_globs(rule.owners or ("**",))
    leads_to = compile_globs(rule.with_paths) if rule.with_paths else None
    keep = compile_globs(rule.keep) if rule.keep else NEVER
    return _Rule(rule.rule, compile_globs(rule.paths), keep, owners, leads_to)


def _group_equal(entries: Iterable[Entry]) -> Mapping[str, list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind == "file" and entry.size_bytes >= LEAST_BYTES:
            groups.setdefault(entry.sha256, []).append(entry)
    return groups


def _find_links(rule: _Rule, groups: Iterable[list[Entry]], targets: set[str]) -> Iterator[tuple[str, str]]:
    """(path, path of the file that it becomes a link to); a file that hardlinks lead to stays one."""
    for group in groups:
        ordered = sorted(group, key=lambda entry: entry.path)
        for entry in ordered:
            if entry.path not in targets and rule.names(entry) and (link := _find_home(rule, entry, ordered)):
                yield entry.path, link


def _find_home(rule: _Rule, entry: Entry, group: list[Entry]) -> str:
    """Where the bytes stay, or ""."""
    if rule.leads_to is not None:
        homes = (one.path for one in group if rule.leads_to.fullmatch(one.path) and not rule.names(one))
        return next(homes, "")
    alike = (one for one in group if _facts(one) == _facts(entry) and rule.names(one))
    first = next(alike, entry)
    return "" if first is entry else first.path


def _facts(entry: Entry) -> tuple[str, int, int, int]:
    """What names of one file have in common."""
    return entry.owner, entry.mode, entry.uid, entry.gid


def _make_link(entry: Entry, link: str, *, is_hard: bool) -> Entry:
    if is_hard:
        return entry._replace(kind="hardlink", size_bytes=0, sha256="", link=link)
    written = posixpath.relpath(f"/{link}", posixpath.dirname(f"/{entry.path}"))
    return entry._replace(kind="symlink", mode=0o777, size_bytes=0, sha256="", link=written)
