"""Path in a folder that anybody made → its bytes, where it is a regular file; nothing else is opened, or waited for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_KINDS = {
    stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip


def open_regular(path: Path, *, follow: bool = False) -> BinaryIO:
    """The file, from its start. `follow`: a link at `path` itself is gone after, as where a person named it.

    Raises OSError, FileNotFoundError among them; `strerror` says what is there instead.
    """
    size_of_regular(path, follow=follow)
    link = 0 if follow else os.O_NOFOLLOW
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | link)
    try:
        _require_regular(os.fstat(descriptor), path)  # what lies there may be another by now
        return open(descriptor, "rb")  # noqa: PTH123  # a descriptor, no path
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, max_bytes: int) -> bytes:
    """All of a small file. Raises OSError as `open_regular` does, and before it reads where the file is larger."""
    with open_regular(path) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes > max_bytes:
            raise _make_large_error(path, size_bytes, max_bytes)
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise _make_large_error(path, len(content), max_bytes)
    return content


def size_of_regular(path: Path, *, follow: bool = False) -> int:
    """Bytes. Raises OSError as `open_regular` does."""
    found = path.stat() if follow else path.lstat()
    _require_regular(found, path)
    return found.st_size


def _require_regular(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise OSError(errno.EINVAL, f"is {kind}, and must be a regular file", str(path))


def _make_large_error(path: Path, size_bytes: int, max_bytes: int) -> OSError:
    message = f"has {size_bytes} bytes; such a file has no more than {max_bytes >> 20} MiB"
    return OSError(errno.EINVAL, message, str(path))
