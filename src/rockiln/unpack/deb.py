"""A deb's bytes → Unpacked: its files in Contents, its paths as entries, its control data verbatim. Nothing is run."""

from __future__ import annotations

import tarfile
from typing import BinaryIO

from rockiln.artifact import Artifact
from rockiln.contents import Content, Contents
from rockiln.manifest import DebFacts, Entry, EntryKind, Unpacked
from rockiln.unpack import decompress, tar_reader
from rockiln.unpack.ar import read_sections
from rockiln.unpack.control_file import installed_kib, read_control, require_locked
from rockiln.unpack.members import MERGED_FOLDERS, Members, check_symlink, image_path, merge_usr, refuse
from rockiln.unpack.tar_reader import TarBytes, read_tar

FLOOR_BYTES = 64 << 20
MOST_RATIO = 500
"""A deb may unpack to FLOOR_BYTES and twice its Installed-Size, but never to more than FLOOR_BYTES and MOST_RATIO times
its own size, since Installed-Size is its maker's word. Of 1,700 real debs one needs a ratio of 177
(libjs-moment-timezone, 218 MB of JSON), and no other one above 64 MiB more than 14."""

CONTROL_BYTES = 16 << 20
CONTROL_MEMBERS = 1000

FLOOR_MEMBERS = 50_000
MOST_MEMBERS = 1_000_000
"""Installed-Size counts at least a KiB a member, so a deb may have FLOOR_MEMBERS and as many as it has KiB."""

NO_ID = (1 << 32) - 1
"""(uid_t)-1 means nobody in particular."""

DAMAGE: tuple[type[Exception], ...] = (*decompress.DAMAGE, *tar_reader.DAMAGE)

_KINDS: dict[bytes, EntryKind] = {
    tarfile.REGTYPE: "file",
    tarfile.AREGTYPE: "file",
    tarfile.CONTTYPE: "file",
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "symlink",
    tarfile.LNKTYPE: "hardlink",
}
_REFUSED_KINDS = {tarfile.CHRTYPE: "character device", tarfile.BLKTYPE: "block device", tarfile.FIFOTYPE: "FIFO"}


def unpack_deb(artifact: Artifact, file: BinaryIO, contents: Contents) -> Unpacked:
    """Take apart `file`, whose bytes are known to be the artifact's."""
    try:
        sections = read_sections(artifact, file)
    except DAMAGE as fault:
        refuse(artifact, artifact.file, str(fault))
    control, control_files = _read_control(
        artifact, TarBytes(decompress.decompress(sections.control, sections.control_suffix), CONTROL_BYTES)
    )
    fields = read_control(artifact, control)
    require_locked(artifact, fields)
    promised_kib = installed_kib(fields)
    pieces = decompress.decompress(sections.data, sections.data_suffix)
    stream = TarBytes(pieces, limit_bytes(artifact.size_bytes, promised_kib))
    members = Members(artifact, min(FLOOR_MEMBERS + (promised_kib or 0), MOST_MEMBERS))
    listed_paths = _DataTar(artifact, stream, members, contents).read()
    facts = DebFacts(control=control, control_files=control_files, listed_paths=listed_paths)
    return Unpacked(artifact=artifact, entries=members.finish(), deb=facts)


def limit_bytes(size_bytes: int, promised_kib: int | None) -> int:
    """How much a deb of `size_bytes` may unpack to."""
    by_ratio = MOST_RATIO * size_bytes
    return FLOOR_BYTES + (by_ratio if promised_kib is None else min(by_ratio, 2048 * promised_kib))


def _read_control(artifact: Artifact, stream: TarBytes) -> tuple[str, dict[str, str]]:
    texts: dict[str, str] = {}
    name = "control.tar"
    try:
        for member in read_tar(stream):
            name = member.name
            path = image_path(artifact, name)
            if not path and member.isdir():
                continue
            if not member.isfile() or "/" in path:
                refuse(artifact, name, "control data may hold plain files only")
            if path in texts or len(texts) == CONTROL_MEMBERS:
                refuse(artifact, name, "occurs twice" if path in texts else f"more than {CONTROL_MEMBERS} members")
            texts[path] = b"".join(stream.take(member.size)).decode("utf-8", "surrogateescape")
    except DAMAGE as fault:
        refuse(artifact, name, f"in control.tar: {fault}")
    if "control" not in texts:
        refuse(artifact, "control", "missing from control.tar")
    return texts.pop("control"), texts


class _DataTar:
    """data.tar on its way into `members` and `contents`."""

    def __init__(self, artifact: Artifact, stream: TarBytes, members: Members, contents: Contents) -> None:
        self._artifact, self._stream, self._members, self._contents = artifact, stream, members, contents

    def read(self) -> tuple[str, ...]:
        """Read all of it; returns the paths as dpkg's .list has them."""
        listed_paths: list[str] = []
        name = "data.tar"
        try:
            for member in read_tar(self._stream):
                name = member.name
                path = image_path(self._artifact, name)
                listed_paths.append(f"/{path or '.'}")
                if path:
                    self._members.add(name, self._entry(member, path))
                elif not member.isdir():
                    refuse(self._artifact, name, "the image root is a directory")
        except DAMAGE as fault:
            refuse(self._artifact, name, str(fault))
        return tuple(listed_paths)

    def _entry(self, member: tarfile.TarInfo, path: str) -> Entry:
        kind = self._kind(member)
        if kind == "symlink":
            return self._symlink(member, path if path in MERGED_FOLDERS else merge_usr(path))
        place = merge_usr(path)
        if kind == "hardlink":
            return self._hardlink(member, place)
        content = self._content(member) if kind == "file" else Content("", 0)
        mode = member.mode & 0o7777
        owner = self._artifact.owner
        return Entry(place, kind, mode, member.uid, member.gid, content.size_bytes, content.sha256, "", owner)

    def _kind(self, member: tarfile.TarInfo) -> EntryKind:
        kind = _KINDS.get(member.type)
        if kind is None:
            refuse(self._artifact, member.name, f"a {_REFUSED_KINDS[member.type]}")
        if not 0 <= min(member.uid, member.gid) <= max(member.uid, member.gid) < NO_ID:
            refuse(self._artifact, member.name, f"impossible owner {member.uid}:{member.gid}")
        return kind

    def _symlink(self, member: tarfile.TarInfo, place: str) -> Entry:
        check_symlink(self._artifact, member.name, place, member.linkname)
        owner = self._artifact.owner
        return Entry(place, "symlink", 0o777, member.uid, member.gid, 0, "", member.linkname, owner)

    def _hardlink(self, member: tarfile.TarInfo, place: str) -> Entry:
        """A second name of an earlier file, with that file's mode and owner: they are one inode."""
        target = self._members.get(merge_usr(image_path(self._artifact, member.linkname)))
        if target is None or target.kind == "directory":
            refuse(self._artifact, member.name, f"hardlink to {member.linkname!a}, which is no file before it")
        if target.kind == "file":
            return target._replace(path=place, kind="hardlink", size_bytes=0, sha256="", link=target.path)
        return target._replace(path=place)

    def _content(self, member: tarfile.TarInfo) -> Content:
        if not self._stream.allows(member.size):
            refuse(self._artifact, member.name, f"of {member.size} bytes is more than {self._artifact.file} may hold")
        return self._contents.put(self._stream.take(member.size))
