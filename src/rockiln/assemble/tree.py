"""Entries + Contents → Tree: a view of an image's paths for code that asks what is there and adds what is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rockiln.contents import Contents
from rockiln.errors import AssembleError
from rockiln.manifest import Entry

MAX_LINKS = 40
"""As many symlinks as Linux follows for one path."""


def make_file(
    contents: Contents, path: str, data: bytes, owner: str, mode: int = 0o644, uid: int = 0, gid: int = 0
) -> Entry:
    """A file of our own making; its bytes go to Contents."""
    sha256, size_bytes = contents.put_bytes(data)
    return Entry(path, "file", mode, uid, gid, size_bytes, sha256, "", owner)


def make_directory(path: str, owner: str, mode: int = 0o755, uid: int = 0, gid: int = 0) -> Entry:
    """A directory of our own making."""
    return Entry(path, "directory", mode, uid, gid, 0, "", "", owner)


def make_symlink(path: str, link: str, owner: str) -> Entry:
    """A symlink of our own making."""
    return Entry(path, "symlink", 0o777, 0, 0, 0, "", link, owner)


def is_plain_directory(entry: Entry) -> bool:
    """Whether it is a directory as everyone makes them: 0755, root's."""
    return entry.kind == "directory" and (entry.mode, entry.uid, entry.gid) == (0o755, 0, 0)


def ancestors(path: str) -> list[str]:
    """Folders above `path`, deepest first: "a/b/c" → ["a/b", "a"]."""
    found = []
    while path := path.rpartition("/")[0]:
        found.append(path)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What the image holds so far. Adding gives a new Tree."""

    entries: Mapping[str, Entry]
    contents: Contents

    def resolve(self, path: str) -> str:
        """`path` with every symlink followed, as the kernel would; the rest stays where something is missing."""
        done, parts, links = "", path.strip("/").split("/")[::-1], 0
        while parts:
            part = parts.pop()
            if part in {"", "."}:
                continue
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{part}" if done else part
            entry = self.entries.get(here)
            if entry is None or entry.kind != "symlink":
                done = here
                continue
            links += 1
            if links > MAX_LINKS:
                raise AssembleError(f"{path}: its symlinks go in a circle", hint=f"see who brings {here}")
            done = "" if entry.link.startswith("/") else done
            parts += entry.link.split("/")[::-1]
        return done

    def find(self, path: str) -> Entry | None:
        """The entry that `path` leads to, through symlinks and hardlinks."""
        entry = self.entries.get(self.resolve(path))
        return self.entries.get(entry.link) if entry is not None and entry.kind == "hardlink" else entry

    def read(self, path: str) -> bytes | None:
        """Bytes of the file that `path` leads to; None where there is no file."""
        entry = self.find(path)
        return self.contents.read_bytes(entry.sha256) if entry is not None and entry.kind == "file" else None

    def require(self, path: str, why: str) -> bytes:
        """As `read`, for a file that a known effect needs."""
        data = self.read(path)
        if data is None:
            hint = "does the package still ship it? effects.toml may have to be revised"
            raise AssembleError(f"{path} is missing, but {why}", hint=hint)
        return data

    def below(self, folder: str) -> tuple[str, ...]:
        """Paths of everything below `folder`, sorted."""
        prefix = folder.strip("/") + "/"
        return tuple(sorted(path for path in self.entries if path.startswith(prefix)))

    def adding(self, entries: Iterable[Entry]) -> Tree:
        """With `entries` where nothing is yet: what a package or a person brought stays as it is."""
        merged = dict(self.entries)
        for entry in entries:
            merged.setdefault(entry.path, entry)
        return Tree(entries=merged, contents=self.contents)


def complete(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Sorted, with every parent directory present; one that nobody brought belongs to the owner of what it holds."""
    whole = dict(entries)
    for path in sorted(entries):
        folder = path.rpartition("/")[0]
        while folder and folder not in whole:
            whole[folder] = make_directory(folder, entries[path].owner)
            folder = folder.rpartition("/")[0]
        if folder and whole[folder].kind != "directory":
            above, below = whole[folder], entries[path]
            message = f"{below.owner} puts {path} below {folder}, which is a {above.kind} of {above.owner}"
            raise AssembleError(message, hint="choose the path that the link leads to, or leave one of the two out")
    return dict(sorted(whole.items()))
