"""A project that nobody builds → what does not belong in its folders, and what still runs or is mounted of it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rockiln.built_values import SMOKED
from small_project import SmallProject

SCRATCH_FOLDERS = ("store/partial", "contents/partial", "layers/partial", "workshop")
MADE = ("contents", "unpacked", "answers", "layers")
"""Parts of a cache that a build makes from the store."""


def list_unfinished(project: SmallProject) -> list[str]:
    """Scratch folders, partial files, and whatever else lies under no final name; but not downloads to be resumed."""
    found = [path for name in SCRATCH_FOLDERS for path in (project.cache_path / name).glob("*")]
    found += [path for folder in (project.cache_path, project.path) for path in folder.rglob(".*") if _is_odd(path)]
    return [str(path) for path in found]


def _is_odd(path: Path) -> bool:
    """The lock beside an image is there to stay; uv's folder is uv's."""
    return path.name != ".image.lock" and "uv" not in path.parts


def list_files(project: SmallProject) -> set[str]:
    """All files that a build made, in cache and build folder; what a smoke test or a push writes is none of them."""
    roots = [*(project.cache_path / name for name in MADE), project.path / "build"]
    top = project.path.parent
    return {str(path.relative_to(top)) for root in roots for path in root.rglob("*") if _is_built(path)}


def _is_built(path: Path) -> bool:
    return path.is_file() and path.name not in {"push.json", "smoke.json", SMOKED}


def list_damaged(project: SmallProject) -> list[str]:
    """Files named by their hash whose hash is another one."""
    patterns = ("layers/blobs/sha256/*", "contents/??/*", "store/sha256/??/*")
    named = [path for pattern in patterns for path in project.cache_path.glob(pattern)]
    named += project.path.glob("build/*/image/blobs/sha256/*")
    return [str(path) for path in named if hashlib.sha256(path.read_bytes()).hexdigest() != path.name]


def wait_for_processes(project: SmallProject, timeout_s: float = 10) -> list[str]:
    """Processes that still have the cache mounted, or its path on their command line, after a while."""
    end_s = time.monotonic() + timeout_s
    while (found := list(_find_processes(project))) and time.monotonic() < end_s:
        time.sleep(0.05)
    return found


def _find_processes(project: SmallProject) -> Iterator[str]:
    """A sandbox sees parts of the cache through mounts of its own: /proc names their place in the file system."""
    folder = str(project.path.parent).encode()
    for process_path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if folder in (process_path / "mountinfo").read_bytes() or folder in (process_path / "cmdline").read_bytes():
                yield (process_path / "cmdline").read_text().replace("\0", " ")
