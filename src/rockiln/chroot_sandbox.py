"""Tree + Command → Completed: a command run behind chroot, for where the kernel's namespaces are forbidden.

BuildKit runs the steps of a Dockerfile as root, with chroot and without namespaces. The step is a container itself:
what this sandbox does not shut off (network, processes) is the step's, not the host's. `--sandbox chroot` asks for it.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rockiln.engines.protocol import Command, Completed, Mount
from rockiln.errors import EngineError

ENTER = "import os, sys; os.chroot(sys.argv[1]); os.chdir(sys.argv[2]); os.execv(sys.argv[3], sys.argv[3:])"
NULL_DEVICE = os.makedev(1, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChrootSandbox:
    """Needs root. What is mounted writable is moved into the tree meanwhile; the rest is hardlinked there."""

    def obstacle(self) -> str:
        return "" if os.geteuid() == 0 else "chroot needs root"

    def run(self, tree_path: Path, command: Command) -> Completed:
        if obstacle := self.obstacle():
            raise EngineError(f"{tree_path}: {obstacle}", hint="without --sandbox chroot, namespaces need no root")
        _make_null(tree_path)
        with _placed(tree_path, command.mounts):
            return _start(tree_path, command)


def _start(tree_path: Path, command: Command) -> Completed:
    argv = [sys.executable, "-I", "-S", "-c", ENTER, str(tree_path), command.workdir or "/", *command.argv]
    start_s = time.monotonic()
    exit_code: int | None
    try:
        done = subprocess.run(
            argv, env=dict(command.env), capture_output=True, check=False, stdin=subprocess.DEVNULL,
            timeout=command.timeout_s,
        )  # fmt: skip
        exit_code, stdout, stderr = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        exit_code, stdout, stderr = None, late.stdout or b"", late.stderr or b""
    return Completed(
        exit_code=exit_code,
        stdout=stdout.decode(errors="replace"),
        stderr=stderr.decode(errors="replace"),
        duration_s=time.monotonic() - start_s,
    )


def _make_null(tree_path: Path) -> None:
    """Programs open it for what they throw away. Where it may not be made, a file takes what is written."""
    path = tree_path / "dev" / "null"
    if not path.exists():
        with suppress(PermissionError):
            os.mknod(path, stat.S_IFCHR | 0o666, NULL_DEVICE)


@contextmanager
def _placed(tree_path: Path, mounts: tuple[Mount, ...]) -> Iterator[None]:
    moved: list[tuple[Path, Path]] = []
    try:
        for mount in mounts:
            place = tree_path / mount.image_path.lstrip("/")
            if mount.writable:
                place.rmdir()
                mount.host_path.rename(place)
                moved.append((mount.host_path, place))
            else:
                _link_tree(mount.host_path, place)
        yield
    finally:
        for host_path, place in moved:
            place.rename(host_path)
            place.mkdir()


def _link_tree(source: Path, place: Path) -> None:
    """Files that are there already stay; partial ones of other writers come or not."""
    for folder, _, names in os.walk(source):
        here = place / Path(folder).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        for name in names:
            with suppress(FileExistsError, FileNotFoundError):
                os.link(Path(folder) / name, here / name)
