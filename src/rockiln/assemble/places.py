"""Applied effects + Tree → Tree with the folders, files and links that package scripts would have made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rockiln.assemble.effects import Applied, Placed
from rockiln.assemble.merge import Diversion
from rockiln.assemble.tree import Tree, make_directory, make_file, make_symlink
from rockiln.errors import AssembleError
from rockiln.manifest import Entry
from rockiln.unpack.members import merge_usr

MERGED_LINKS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")


def link_merged_usr(tree: Tree) -> Tree:
    """/bin → usr/bin and so on, for each folder that is there; a newer base-files ships the links itself."""
    owner = "deb:base-files" if "usr/share/base-files" in tree.entries else "rockiln"
    names = [name for name in MERGED_LINKS if f"usr/{name}" in tree.entries]
    return tree.adding(make_symlink(name, f"usr/{name}", owner) for name in names)


def place(tree: Tree, applied: Iterable[Applied]) -> Tree:
    """What the scripts would have made, where nothing is yet."""
    entries = dict(tree.entries)
    for one in applied:
        for placed in one.effect.places:
            if placed.only_with and placed.only_with not in entries:
                continue
            if placed.replaces_folder:
                _remove_empty_folder(entries, placed.path)
            entry = _make(tree, placed, one.owner)
            entries.setdefault(entry.path, entry)
    return Tree(entries=entries, contents=tree.contents)


def _make(tree: Tree, placed: Placed, owner: str) -> Entry:
    if placed.kind == "directory":
        return make_directory(placed.path, owner, placed.mode, placed.uid, placed.gid)
    if placed.kind == "symlink":
        return make_symlink(placed.path, placed.to, owner)
    if placed.copy_of:
        data = tree.require(placed.copy_of, f"{owner} makes {placed.path} of it")
    else:
        data = placed.text.encode()
    return make_file(tree.contents, placed.path, data, owner, placed.mode, placed.uid, placed.gid)


def _remove_empty_folder(entries: dict[str, Entry], path: str) -> None:
    if path not in entries or entries[path].kind != "directory":
        return
    inside = [other for other in entries if other.startswith(path + "/")]
    if inside:
        raise AssembleError(
            f"{path} should become a symlink, but {entries[inside[0]].owner} puts {inside[0]} below it",
            hint="the package's own script would fail here too; leave that package out",
        )
    del entries[path]


def give_to_groups(tree: Tree, applied: Iterable[Applied], group_ids: Mapping[str, int]) -> Tree:
    """Rights of files that scripts hand to groups of their own making."""
    entries = dict(tree.entries)
    for one in applied:
        for path, mode, group in one.effect.group_files:
            if path in entries:
                entries[path] = entries[path]._replace(mode=mode, gid=group_ids[group])
    return Tree(entries=entries, contents=tree.contents)


def list_diversions(applied: Iterable[Applied]) -> tuple[Diversion, ...]:
    """Diversions of all packages, in the paths of the image."""
    return tuple(
        Diversion(path=merge_usr(path.strip("/")), to=merge_usr(to.strip("/")), owner=one.owner)
        for one in applied
        for path, to in one.effect.diversions
    )
