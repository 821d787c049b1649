"""LayerFiles, in order → one tree on the host, ready to be a root: every path checked, files linked, nothing copied."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rockiln.engines.layer_files import LayerFiles, Member
from rockiln.errors import EngineError
from rockiln.layer_paths import OPAQUE, WHITEOUT, clean_path
from rockiln.namespaces.ids import has_other_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """An image, extracted."""

    root_path: Path
    folders: tuple[tuple[str, int, int, int], ...]
    """Path, uid, gid and mode of the folders that somebody besides root may write to, as the image has them."""

    def writable_folders(self, uid: int, gid: int) -> tuple[str, ...]:
        """Where this user may write: without root on the host the tree itself cannot say."""
        return tuple(
            f"/{path}"
            for path, owner_uid, owner_gid, mode in self.folders
            if mode & 0o002 or (owner_gid == gid and mode & 0o020) or (owner_uid == uid and mode & 0o200)
        )


def read_tree(folder: Path) -> Tree:
    rows = json.loads((folder / "folders.json").read_text(encoding="utf-8"))
    return Tree(root_path=folder / "root", folders=tuple((str(p), int(u), int(g), int(m)) for p, u, g, m in rows))


def build_tree(layers: Sequence[LayerFiles], folder: Path) -> None:
    """Write root/ and folders.json below `folder`. Raises EngineError for a path that leads out of the tree."""
    root = folder / "root"
    root.mkdir()
    if root.stat().st_gid != os.getegid():  # below a set-gid folder; a user namespace knows our own gid only
        os.chown(root, -1, os.getegid())
        root.chmod(0o755)
    builder = _TreeBuilder(str(root))
    for layer in layers:
        builder.add_layer(layer)
    builder.finish()
    rows = [row for row in builder.list_folders() if row[1] or row[2] or row[3] & 0o022]
    (folder / "folders.json").write_text(json.dumps(rows), encoding="utf-8")


class _TreeBuilder:
    """Places members below a root. Knows what it placed, so that it never follows a link of the archive."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._kinds = {"": "directory"}
        self._folders: dict[str, Member] = {}
        self._has_other_ids = has_other_ids()

    def add_layer(self, layer: LayerFiles) -> None:
        members = [(_clean(member.path), member) for member in layer.members]
        for path, member in members:
            if path.rpartition("/")[2].startswith(WHITEOUT):
                self._white_out(path, member)
        for path, member in members:
            if not path.rpartition("/")[2].startswith(WHITEOUT):
                self._place(path, member, layer)

    def list_folders(self) -> Iterable[tuple[str, int, int, int]]:
        for path, member in sorted(self._folders.items()):
            yield path, member.uid, member.gid, member.mode

    def finish(self) -> None:
        """Folders get their modes last, deepest first: some may not be written to."""
        for path in sorted(self._folders, reverse=True):
            member = self._folders[path]
            if self._has_other_ids:
                os.chown(self._at(path), member.uid, member.gid)
            os.chmod(self._at(path), member.mode)  # noqa: PTH101 - thousands of folders

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _place(self, path: str, member: Member, layer: LayerFiles) -> None:
        if member.kind == "directory":
            self._make_folder(path, member)
            return
        if not path:
            raise EngineError(f"{layer.folder}: a {member.kind} takes the place of the root")
        self._require_parents(path, member)
        self._remove(path)
        if member.kind == "symlink":
            os.symlink(member.link, self._at(path))  # noqa: PTH211
            if self._has_other_ids:
                os.chown(self._at(path), member.uid, member.gid, follow_symlinks=False)
        else:
            source = layer.path_of(member) if member.kind == "file" else self._find_linked(member)
            os.link(source, self._at(path), follow_symlinks=False)
        self._kinds[path] = member.kind

    def _find_linked(self, member: Member) -> str:
        link = _clean(member.link)
        if self._kinds.get(link) not in {"file", "hardlink", "symlink"}:
            raise EngineError(f"{member.path}: hard link to {member.link}, which is no file of the image")
        return self._at(link)

    def _make_folder(self, path: str, member: Member) -> None:
        if self._kinds.get(path) != "directory":
            self._require_parents(path, member)
            self._remove(path)
            os.mkdir(self._at(path), 0o700)  # noqa: PTH102
            self._kinds[path] = "directory"
        self._folders[path] = member

    def _require_parents(self, path: str, member: Member) -> None:
        parent = path.rpartition("/")[0]
        kind = self._kinds.get(parent)
        if kind is None:
            self._make_folder(parent, Member(parent, "directory", 0o755, 0, 0, "", -1))
        elif kind != "directory":
            raise EngineError(f"{member.path}: leads through {parent}, which is a {kind}")

    def _white_out(self, path: str, member: Member) -> None:
        parent, _, name = path.rpartition("/")
        if name == OPAQUE:
            for known in [known for known in self._kinds if known.rpartition("/")[0] == parent and known]:
                self._remove(known)
        elif name[len(WHITEOUT) :] in {"", ".", ".."}:
            raise EngineError(f"{member.path}: not a whiteout")
        else:
            self._remove(f"{parent}/{name[len(WHITEOUT) :]}".lstrip("/"))

    def _remove(self, path: str) -> None:
        """Take away what an earlier layer placed."""
        kind = self._kinds.pop(path, None)
        if kind == "directory":
            for below in [known for known in self._kinds if known.startswith(f"{path}/")]:
                self._remove(below)
            self._folders.pop(path, None)
            os.rmdir(self._at(path))  # noqa: PTH106
        elif kind:
            os.unlink(self._at(path))  # noqa: PTH108


def _clean(path: str) -> str:
    """ "./usr/bin/" → "usr/bin". Raises EngineError for a path with ..: no honest layer has one."""
    try:
        return clean_path(path)
    except ValueError:
        raise EngineError(f"{path}: leads out of the image") from None
