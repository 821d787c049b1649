"""Members of one archive → Entries of an image, or UnpackError naming the member that must not be.

Nothing here touches the host file system: a member's name becomes data in a manifest. What is refused is refused so
that the *image* is exactly what the archive says, with no name that means something else to another tool.
"""

from __future__ import annotations

from typing import NoReturn

from rockiln.artifact import Artifact
from rockiln.errors import UnpackError
from rockiln.manifest import Entry

MERGED_FOLDERS = frozenset({"bin", "sbin", "lib", "lib32", "lib64", "libx32"})
"""Folders of the root that are symlinks into usr/ in every image."""

LONGEST_PATH_BYTES = 4095
LONGEST_NAME_BYTES = 255
DEEPEST = 256
"""Linux's PATH_MAX and NAME_MAX, and a bound that keeps checks quick."""


def refuse(artifact: Artifact, member: str, reason: str) -> NoReturn:
    """Stop, naming artifact and member. The name is escaped: it comes from the archive."""
    shown = member if len(member) <= 200 else f"{member[:200]}…"
    wanted = f"{artifact.name} {artifact.version} from source {artifact.source!r}"
    hint = f"these are the locked bytes of {wanted}: lock another version, and tell whoever made this one"
    raise UnpackError(f"{artifact.file}: member {shown!a}: {reason}", hint=hint)


def image_path(artifact: Artifact, member: str) -> str:
    """A member's name → its path below the image root; "" for the root itself ("./")."""
    path = member.removeprefix("./").removesuffix("/")
    if path in {"", "."}:
        if member in {"./", "."}:
            return ""
        refuse(artifact, member, "empty name" if not member else "absolute name")
    if path.startswith("/") or member.startswith("/"):
        refuse(artifact, member, "absolute name")
    if not path.isprintable() and any(ord(letter) < 0x20 or ord(letter) == 0x7F for letter in path):
        refuse(artifact, member, "control character in the name")
    parts = path.split("/")
    if not {"", ".", ".."}.isdisjoint(parts):
        refuse(artifact, member, "the name has an empty, '.' or '..' part")
    if len(path) > LONGEST_NAME_BYTES / 4:
        _check_lengths(artifact, member, parts)
    return path


def _check_lengths(artifact: Artifact, member: str, parts: list[str]) -> None:
    lengths = [len(part.encode("utf-8", "surrogateescape")) for part in parts]
    if max(lengths) > LONGEST_NAME_BYTES or sum(lengths) + len(lengths) > LONGEST_PATH_BYTES:
        refuse(artifact, member, "the name is longer than Linux allows")
    if len(parts) > DEEPEST:
        refuse(artifact, member, f"more than {DEEPEST} folders deep")


def merge_usr(path: str) -> str:
    """ "bin/ls" → "usr/bin/ls": where dpkg's unpacking ends up on a system with merged /usr."""
    top, _, _ = path.partition("/")
    return f"usr/{path}" if top in MERGED_FOLDERS else path


def check_symlink(artifact: Artifact, member: str, path: str, target: str) -> None:
    """Refuse a target that is empty, unprintable, too long, or that climbs above the image root.

    The walk is by letters alone: parts are counted from the symlink's folder, or from the root for an absolute target.
    """
    if not target:
        refuse(artifact, member, "symlink to nothing")
    if any(ord(letter) < 0x20 or ord(letter) == 0x7F for letter in target):
        refuse(artifact, member, "control character in the symlink's target")
    if len(target.encode("utf-8", "surrogateescape")) > LONGEST_PATH_BYTES:
        refuse(artifact, member, "the symlink's target is longer than Linux allows")
    depth = 0 if target.startswith("/") else path.count("/")
    for part in target.split("/"):
        if part == "..":
            depth -= 1
        elif part not in {"", "."}:
            depth += 1
        if depth < 0:
            refuse(artifact, member, f"symlink to {target!a} leaves the image root")


class Members:
    """Collects the entries of one artifact; each path once, and nothing below what is not a directory."""

    def __init__(self, artifact: Artifact, most: int) -> None:
        self._artifact = artifact
        self._most = most
        self._entries: dict[str, Entry] = {}

    def add(self, member: str, entry: Entry) -> None:
        """Take one more. A directory named twice is one directory, as first described."""
        before = self._entries.setdefault(entry.path, entry)
        if before is not entry and not before.kind == entry.kind == "directory":
            refuse(self._artifact, member, f"a {before.kind} and a {entry.kind} are both to be {entry.path!a}")
        if len(self._entries) > self._most:
            refuse(self._artifact, member, f"more than {self._most} members")

    def get(self, path: str) -> Entry | None:
        """What is at `path` so far."""
        return self._entries.get(path)

    def finish(self) -> tuple[Entry, ...]:
        """All entries, in archive order."""
        folders: set[str] = set()
        for path in self._entries:
            self._check_parents(path, folders)
        return tuple(self._entries.values())

    def _check_parents(self, path: str, folders: set[str]) -> None:
        parent = path.rpartition("/")[0]
        while parent and parent not in folders:
            entry = self._entries.get(parent)
            if entry is not None and entry.kind != "directory":
                through = f"{entry.kind} {parent!a}"
                through += f" to {entry.link!a}" if entry.kind == "symlink" else ""
                refuse(self._artifact, path, f"to be written through the {through} of the same archive")
            folders.add(parent)
            parent = parent.rpartition("/")[0]
