"""Bytes → a file that appears whole or not at all."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """In place of what is there. Where writing fails, with an OSError, that stays, and nothing else is left.

    A link stays a link. A device, a pipe, and /dev/stdout are written to: root must not put a file in their place.
    """
    if _is_stream(path):
        with path.open("ab") as stream:
            stream.write(content)
        return
    place = path.resolve()
    beside_path = place.with_name(f"{place.name}.part")
    try:
        beside_path.write_bytes(content)
        beside_path.replace(place)
    except BaseException as fault:
        with suppress(OSError):  # it may be a folder, or lie in what is none
            beside_path.unlink()
        if isinstance(fault, OSError):
            raise OSError(fault.errno, fault.strerror, str(path)) from fault  # nobody knows the file beside it
        raise


def _is_stream(path: Path) -> bool:
    """Something other than a regular file is there, or it is this process's own by /proc, as /dev/stdout is."""
    leads = (path.parent.resolve(), *((path.readlink(),) if path.is_symlink() else ()))
    return path.exists() and (not path.is_file() or any(lead.is_relative_to("/proc") for lead in leads))
