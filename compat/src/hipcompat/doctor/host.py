"""A machine or container, live or recorded → the one value through which the doctor looks at it."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_MAX_BYTES = 16 << 20
_NUMBER = re.compile(r"[0-9]{1,20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Owner and mode of a file that stands for a device, where the recording user could not give them to it."""

    mode: int = 0o660
    uid: int = 0
    gid: int = 0
    fault: str = ""
    """What opening it says though the mode allows it: EPERM is the answer of a container's device rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Paths are absolute, as the host sees them; `root` stands for its /. Links in a recorded tree are relative."""

    root: str = "/"
    environ: Mapping[str, str] = field(default_factory=dict)
    uid: int = 0
    gids: frozenset[int] = frozenset()
    sites: tuple[str, ...] = ()
    """The site-packages folders of the Python in question, in the order of its path."""
    recorded: Mapping[str, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """A Path is a root, too."""
        object.__setattr__(self, "root", os.fspath(self.root))

    @property
    def is_live(self) -> bool:
        """It is the machine itself: the kernel can be asked."""
        return self.root == "/"

    def read(self, path: str) -> str | None:
        """At most 16 MiB of a file as text; None where it is missing or may not be read."""
        try:
            with self._place(path).open("rb") as file:
                return file.read(_MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return None

    def list(self, path: str) -> tuple[str, ...]:
        """Sorted names in a folder; none where there is no such folder."""
        try:
            return tuple(sorted(entry.name for entry in self._place(path).iterdir()))
        except OSError:
            return ()

    def exists(self, path: str) -> bool:
        """A broken link does not."""
        return _is_there(self._place(path))

    def resolve(self, path: str) -> str:
        """The path without links; "" where nothing is there."""
        place = str(self._place(path).resolve())
        if not _is_there(Path(place)):
            return ""
        root = str(Path(self.root).resolve()).rstrip("/")
        return place[len(root) :] if place.startswith(f"{root}/") else place

    def read_link(self, path: str) -> str:
        """What a link says; "" for what is none."""
        try:
            return str(self._place(path).readlink())
        except OSError:
            return ""

    def describe_node(self, path: str) -> Node:
        """Owner and mode of an existing file."""
        if path in self.recorded:
            return self.recorded[path]
        try:
            status = self._place(path).stat()
        except OSError:
            return Node()
        return Node(mode=status.st_mode & 0o7777, uid=status.st_uid, gid=status.st_gid)

    def may_use(self, path: str) -> bool:
        """Read and write by this uid. The kernel is asked on a live host: there are access lists, and device rules."""
        if self.is_live and path not in self.recorded:
            return os.access(path, os.R_OK | os.W_OK)
        return self.is_allowed_by_mode(path)

    def is_allowed_by_mode(self, path: str) -> bool:
        """What owner, group and mode alone say."""
        node = self.describe_node(path)
        if self.uid == 0:
            return True
        shift = 6 if node.uid == self.uid else 3 if node.gid in self.gids else 0
        return node.mode >> shift & 6 == 6

    def try_open(self, path: str) -> str:
        """The error's name, if a device that may be used does not open: "EPERM", "ENODEV"; "" if it does."""
        if not self.is_live or path in self.recorded:
            return self.describe_node(path).fault
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        except OSError as fault:
            return errno.errorcode.get(fault.errno or 0, str(fault))
        return ""

    def _place(self, path: str) -> Path:
        return Path(self.root.rstrip("/") + path)


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:  # a folder on the way that may not be entered
        return False


def read_number(text: str) -> int | None:
    """A decimal number as the kernel writes it, of at most twenty ASCII digits; None for anything else."""
    return int(text) if _NUMBER.fullmatch(text) else None


def read_this_host() -> Host:
    """The machine or container in which this Python runs, as this user."""
    sites = dict.fromkeys(path for path in sys.path if path.rpartition("/")[2] in {"site-packages", "dist-packages"})
    return Host(
        environ=dict(os.environ), uid=os.geteuid(), gids=frozenset({os.getegid(), *os.getgroups()}), sites=tuple(sites)
    )
