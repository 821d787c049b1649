"""Unpacked artifacts → Merged: one entry a path, as dpkg and pip would have left it, or an error naming both owners.

Rules, in the order in which they are asked:
- a diverted path moves, unless its owner is the package that diverts it;
- directories are shared; one that sets something other than root's 0755 wins, as the packages that ship the plain one
  only mean "it exists";
- the same content under the same path is shared, and reported;
- a symlink to a directory and a directory go together: what is below moves to where the link leads;
- a deb whose Replaces names the other's package takes the path, as in dpkg;
- anything else is an error. Nothing is overwritten silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rockiln.assemble.replaces import replaces
from rockiln.assemble.tree import MAX_LINKS, ancestors, is_plain_directory
from rockiln.errors import AssembleError
from rockiln.manifest import Entry, Unpacked
from rockiln.rootfs import Finding

SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversion:
    """dpkg-divert: whoever else brings `path` has it put at `to`."""

    path: str
    to: str
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    entries: Mapping[str, Entry]
    replaced: Mapping[str, frozenset[str]]
    """Owner → paths that another package took over: they leave that owner's dpkg list."""
    findings: tuple[Finding, ...]


def merge(unpacked: Sequence[Unpacked], diversions: Sequence[Diversion] = ()) -> Merged:
    """One tree of all artifacts. The result does not depend on their order."""
    work = _Merge(unpacked, diversions)
    for one in sorted(unpacked, key=lambda one: one.artifact.owner):
        for entry in one.entries:
            work.add(work.divert(entry))
    work.move_below_links()
    work.repair_hardlinks()
    if work.conflicts:
        raise _conflict_error(work.conflicts)
    replaced = {owner: frozenset(paths) for owner, paths in work.replaced.items()}
    return Merged(entries=work.entries, replaced=replaced, findings=tuple(work.findings))


class _Merge:
    """The tree while it grows."""

    def __init__(self, unpacked: Sequence[Unpacked], diversions: Sequence[Diversion]) -> None:
        self.entries: dict[str, Entry] = {}
        self.replaced: dict[str, set[str]] = {}
        self.findings: list[Finding] = []
        self.conflicts: list[tuple[Entry, Entry]] = []
        self._controls = {one.artifact.owner: one.deb.control for one in unpacked if one.deb}
        self._originals = {one.artifact.owner: one for one in unpacked}
        self._diversions = {diversion.path: diversion for diversion in diversions}

    def divert(self, entry: Entry) -> Entry:
        if entry.path not in self._diversions and entry.link not in self._diversions:
            return entry
        link = self._moved(entry.link, entry.owner) if entry.kind == "hardlink" else entry.link
        return entry._replace(path=self._moved(entry.path, entry.owner), link=link)

    def _moved(self, path: str, owner: str) -> str:
        diversion = self._diversions.get(path)
        return diversion.to if diversion and diversion.owner != owner else path

    def add(self, entry: Entry) -> None:
        other = self.entries.setdefault(entry.path, entry)
        if other is not entry:
            self.entries[entry.path] = self._settle(other, entry)

    def _settle(self, old: Entry, new: Entry) -> Entry:
        if old.kind == new.kind == "directory":
            return self._settle_directories(old, new)
        if old[1:-1] == new[1:-1]:
            self._find("shared-path", new, f"{new.path} is brought by {old.owner} too, with the same content")
            return old
        if {old.kind, new.kind} == {"symlink", "directory"}:
            return old if old.kind == "symlink" else new
        if winner := self._replacer(old, new):
            loser = new if winner is old else old
            self.replaced.setdefault(loser.owner, set()).add(loser.path)
            return winner
        self.conflicts.append((old, new))
        return old

    def _settle_directories(self, old: Entry, new: Entry) -> Entry:
        if is_plain_directory(new) or old[:-1] == new[:-1]:
            return old
        if is_plain_directory(old):
            return new
        wanted, kept = _rights(new), _rights(old)
        self._find("directory-mode", new, f"{new.path}: {new.owner} wants {wanted}, {old.owner} has {kept}")
        return old

    def _replacer(self, old: Entry, new: Entry) -> Entry | None:
        if not {old.owner, new.owner} <= self._controls.keys():
            return None
        if replaces(self._controls[new.owner], self._controls[old.owner]):
            return new
        return old if replaces(self._controls[old.owner], self._controls[new.owner]) else None

    def _find(self, rule: str, entry: Entry, message: str) -> None:
        self.findings.append(Finding(rule=rule, owner=entry.owner, message=message))

    def move_below_links(self) -> None:
        """Paths that go through a symlink move to where it leads, until none does."""
        for _ in range(MAX_LINKS):
            through = self._paths_through_links()
            if not through:
                return
            for path, link in through:
                entry = self.entries.pop(path)
                self.add(entry._replace(path=_follow(self.entries[link]) + path[len(link):]))
        raise AssembleError(f"{through[0][0]}: its symlinks go in a circle", hint=f"see who brings {through[0][1]}")

    def _paths_through_links(self) -> list[tuple[str, str]]:
        """Paths below a symlink, each with the topmost symlink above it."""
        link_of: dict[str, str] = {}
        for folder in {path.rpartition("/")[0] for path in self.entries}:
            for above in [*ancestors(folder)[::-1], folder]:
                if above in self.entries and self.entries[above].kind == "symlink":
                    link_of[folder] = above
                    break
        folders = ((path, path.rpartition("/")[0]) for path in sorted(self.entries)) if link_of else ()
        return [(path, link_of[folder]) for path, folder in folders if folder in link_of]

    def repair_hardlinks(self) -> None:
        """A hardlink whose file another package took over becomes a file of its own again."""
        for path, entry in self.entries.items():
            if entry.kind != "hardlink":
                continue
            target = self.entries.get(entry.link)
            if target is None or target.kind != "file" or target.owner != entry.owner:
                original = next(e for e in self._originals[entry.owner].entries if e.path == entry.link)
                self.entries[path] = original._replace(path=path)


def _follow(link: Entry) -> str:
    folder = "" if link.link.startswith("/") else link.path.rpartition("/")[0]
    parts = [part for part in f"{folder}/{link.link}".split("/") if part not in {"", "."}]
    while ".." in parts:
        index = parts.index("..")
        del parts[max(index - 1, 0):index + 1]
    return "/".join(parts)


def _rights(entry: Entry) -> str:
    return f"{entry.mode:04o} {entry.uid}:{entry.gid}"


def _conflict_error(conflicts: Iterable[tuple[Entry, Entry]]) -> AssembleError:
    pairs = sorted(conflicts, key=lambda pair: (pair[0].path, pair[1].owner))
    lines = [f"{old.path} is brought by {old.owner} ({old.kind}) and by {new.owner} ({new.kind})" for old, new in pairs]
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    hint = "leave one of the two out of the recipe, or pin a version that does not clash"
    return AssembleError("\n".join([*lines[:SHOWN], *more]), hint=hint)
