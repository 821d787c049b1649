"""A disk that gets full in mid build: one message, nothing half-written, and with more room the build goes on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from remains import list_damaged, list_unfinished
from small_project import SMALL, SmallProject

pytestmark = [pytest.mark.network, pytest.mark.userns, pytest.mark.slow]

PLENTY_BYTES = 1 << 30
ONE_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "private", "--")
HOLD = 'mount -t tmpfs -o size="$1" small-disk "$2" && echo mounted && read line'
"""The mount lives as long as this does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallDisk:
    """A disk of a given size at `path`, seen only by what starts with `prefix`."""

    path: Path
    holder_pid: int

    @property
    def prefix(self) -> tuple[str, ...]:
        return ("nsenter", "--target", str(self.holder_pid), "--user", "--mount", "--preserve-credentials", "--")

    @property
    def seen_path(self) -> Path:
        """The same folder for those outside."""
        return Path(f"/proc/{self.holder_pid}/root{self.path}")

    def resize(self, size_bytes: int) -> None:
        command = ("mount", "-o", f"remount,size={size_bytes}", str(self.path))
        subprocess.run([*self.prefix, *command], check=True)


@contextmanager
def mount_small_disk(path: Path, size_bytes: int) -> Iterator[SmallDisk]:
    """A tmpfs at `path`, until the block ends; needs no root."""
    path.mkdir(parents=True)
    command = [*ONE_NAMESPACE, "sh", "-c", HOLD, "sh", str(size_bytes), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == "mounted\n"
        yield SmallDisk(path=path, holder_pid=holder.pid)
        holder.stdin.close()


def measure(path: Path) -> int:
    """What tmpfs takes for the files below: whole pages, and each hard link once."""
    sizes = {(facts.st_dev, facts.st_ino): facts.st_size for file in path.rglob("*") if (facts := file.lstat())}
    return sum(-(-size // 4096) * 4096 for size in sizes.values())


def require_one_message(done: subprocess.CompletedProcess[str]) -> None:
    """Exit code 16 and two lines: what and where, and what to do."""
    assert done.returncode == 16, done.stderr
    error, hint = done.stderr.splitlines()
    assert error.startswith("rockiln: error: /")
    assert "the disk is full" in error
    assert hint == "hint: make room, or put the cache on another disk: ROCKILN_CACHE=FOLDER"
    assert done.stdout == ""


@pytest.mark.parametrize("share", [0.02, 0.2, 0.4, 0.55, 0.7, 0.8, 0.9, 0.97])
def test_build_goes_on_when_there_is_room_again(
    share: float, small_project: SmallProject, undisturbed: SmallProject, digest: str, tmp_path: Path
) -> None:
    """`share` of what the whole build puts into the cache fits, so that it fails at another stage each time."""
    project = small_project.copy_to(tmp_path, store=False)
    store_bytes, whole_bytes = measure(undisturbed.cache_path / "store"), measure(undisturbed.cache_path)
    size_bytes = store_bytes + int(share * (whole_bytes - store_bytes))
    with mount_small_disk(project.cache_path, size_bytes) as disk:
        shutil.copytree(undisturbed.cache_path / "store", disk.seen_path / "store")
        project = replace(project, prefix=disk.prefix)
        require_one_message(project.run("--quiet", "build", SMALL))
        seen = replace(project, cache_path=disk.seen_path)
        assert list_unfinished(seen) == []
        assert list_damaged(seen) == []
        assert not (project.path / "build" / SMALL / "image").exists()
        disk.resize(PLENTY_BYTES)
        assert project.build() == digest
        assert list_unfinished(seen) == []
        assert list_damaged(seen) == []


def test_fetch_goes_on_when_there_is_room_again(small_project: SmallProject, tmp_path: Path) -> None:
    """It stops before the first byte: sizes are known from the lock."""
    project = small_project.copy_to(tmp_path, store=False)
    with mount_small_disk(project.cache_path, 4 << 20) as disk:
        project = replace(project, prefix=disk.prefix)
        require_one_message(project.run("--quiet", "fetch", SMALL))
        assert not [path for path in disk.seen_path.rglob("*") if path.is_file()]
        disk.resize(PLENTY_BYTES)
        assert project.run("--quiet", "fetch", SMALL).returncode == 0


@pytest.mark.parametrize("size_bytes", [4096, 1 << 20, 20 << 20])
def test_full_disk_of_images_leaves_no_image(
    size_bytes: int, small_project: SmallProject, digest: str, tmp_path: Path
) -> None:
    """Cache and build folder on two disks: layers are copied, not linked."""
    project = small_project.copy_to(tmp_path)
    with mount_small_disk(project.path / "build", size_bytes) as disk:
        project = replace(project, prefix=disk.prefix)
        require_one_message(project.run("--quiet", "build", SMALL))
        left = [path for path in disk.seen_path.rglob("*") if path.is_file()]
        assert not [path for path in left if path.name == "index.json" or path.name.endswith(".partial")]
        disk.resize(PLENTY_BYTES)
        assert project.build() == digest
        names = {path.name for path in (disk.seen_path / SMALL / "image/blobs/sha256").iterdir()}
        assert all(len(name) == 64 for name in names)


def test_smoke_goes_on_when_there_is_room_again(undisturbed: SmallProject, tmp_path: Path) -> None:
    """The embedded engine extracts layers into the cache; those that fit whole stay."""
    project = replace(undisturbed, cache_path=tmp_path / "cache")
    with mount_small_disk(project.cache_path, 30 << 20) as disk:
        project = replace(project, prefix=disk.prefix)
        require_one_message(project.run("--quiet", "smoke", "--engine", "embedded", SMALL))
        assert not list(disk.seen_path.glob("trees/*/.unfinished/*"))
        assert not list(disk.seen_path.glob("trees/images/[0-9a-f]*"))
        disk.resize(PLENTY_BYTES)
        assert project.run("--quiet", "smoke", "--engine", "embedded", SMALL).returncode == 0
