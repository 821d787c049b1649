"""An unpacked root file system, or a target's Rootfs and Contents → Scan."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rockiln.audit.inspect_file import NOTHING, Wanted
from rockiln.audit.installed.tree import Node
from rockiln.audit.remembered import read_remembered, write_remembered
from rockiln.audit.scan import HostFile, Scan, Settings, inspect_files, make_scan
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.rootfs import Rootfs


def scan_rootfs(
    subject: str, rootfs: Rootfs, contents: Contents, settings: Settings, wanted: Wanted, invocation: Invocation
) -> Scan:
    """What a build has in hand; the hashes of its files are known. What is found is kept, so that
    the next build looks at changed files only."""
    memory = invocation.folders.target_path(subject) / "inspected"
    nodes = {
        entry.path: Node(entry.path, entry.kind, entry.mode, entry.size_bytes, entry.link, entry.sha256)
        for entry in rootfs.entries.values()
    }
    hashes = {node.path: node.sha256 for node in nodes.values() if node.kind == "file"}
    unhashed = replace(wanted, hashes=False)
    known = read_remembered(memory, unhashed)
    files = [
        HostFile(path, nodes[path].size_bytes, str(contents.path_of(sha256)))
        for path, sha256 in hashes.items()
        if (path, sha256) not in known
    ]
    facts = {path: found for (path, sha256), found in known.items() if hashes.get(path) == sha256 and found != NOTHING}
    facts |= inspect_files(files, unhashed, invocation.jobs, invocation.console, subject)
    if files:
        write_remembered(memory, unhashed, hashes, facts)
    return make_scan(subject, nodes, facts, wanted, settings)


def scan_folder(folder: Path, wanted: Wanted, jobs: int, console: Console) -> Scan:
    """A tree that somebody unpacked, or a running system's root; other file systems in it are left out, as /proc is."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder", hint="give a target, a root file system, or an image")
    nodes: dict[str, Node] = {}
    first_of: dict[tuple[int, int], str] = {}
    files: list[HostFile] = []
    faults: dict[str, str] = {}
    for path, entry in _walk(folder, faults):
        facts = entry.stat(follow_symlinks=False)
        mode = stat.S_IMODE(facts.st_mode)
        if entry.is_symlink():
            nodes[path] = Node(path, "symlink", mode, 0, os.readlink(entry.path), "")  # noqa: PTH115
        elif entry.is_dir(follow_symlinks=False):
            nodes[path] = Node(path, "directory", mode, 0, "", "")
        elif entry.is_file(follow_symlinks=False):
            first = first_of.setdefault((facts.st_dev, facts.st_ino), path)
            if first == path:
                nodes[path] = Node(path, "file", mode, facts.st_size, "", "")
                files.append(HostFile(path, facts.st_size, entry.path))
            else:
                nodes[path] = Node(path, "hardlink", mode, 0, first, "")
    found = inspect_files(files, wanted, jobs, console, str(folder))
    return make_scan(str(folder), nodes, found, wanted, faults=faults)


def _walk(folder: Path, faults: dict[str, str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every entry below, folders sorted by name."""
    device = folder.stat().st_dev
    waiting = [("", str(folder))]
    while waiting:
        prefix, here = waiting.pop()
        try:
            with os.scandir(here) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except PermissionError as fault:
            faults[prefix.rstrip("/")] = f"cannot be read: {fault.strerror}"
            continue
        for entry in entries:
            yield prefix + entry.name, entry
            if entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_dev == device:
                waiting.append((f"{prefix}{entry.name}/", entry.path))
