"""System calls that Python 3.11 does not wrap → functions that raise OSError; and what a step was refused."""

from __future__ import annotations

import ctypes
import functools
import os
import struct

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
SYS_MOUNT_SETATTR = 442
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1



class Refusal(Exception):  # noqa: N818 - what the kernel said, not a fault of this program
    """A step that the kernel refused: its name decides what advice helps."""

    def __init__(self, step: str, error: OSError) -> None:
        super().__init__(step)
        self.step, self.error = step, error


@functools.cache
def open_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def call_libc(name: str, *arguments: int | bytes | None) -> None:
    """Call a function of libc that answers -1 for failure. Numbers are passed as long: 64 bits."""
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    if getattr(open_libc(), name)(*passed) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    call_libc("mount", source.encode(), target.encode(), kind.encode(), flags, options.encode() or None)


def bind(source: str, target: str) -> None:
    """Recursively: inside a user namespace the kernel refuses to show what submounts cover."""
    mount(source, target, "", MS_BIND | MS_REC)


def make_read_only(path: str) -> None:
    """The mount at `path` and all below it (kernel 5.12), or just the one at `path`."""
    attributes = struct.pack("=QQQQ", MOUNT_ATTR_RDONLY, 0, 0, 0)
    try:
        call_libc("syscall", SYS_MOUNT_SETATTR, AT_FDCWD, path.encode(), AT_RECURSIVE, attributes, len(attributes))
    except OSError:
        kept = os.statvfs(path).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
        mount("", path, "", MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def mount_tmpfs(target: str, mode: str) -> None:
    mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, f"mode={mode}")


def pivot_root(new: str, old: str) -> None:
    call_libc("syscall", SYS_PIVOT_ROOT[os.uname().machine], new.encode(), old.encode())


def write_text(path: str, text: str) -> None:
    """Unbuffered bytes: an encoding would be imported when the host's files are already out of sight."""
    with open(path, "wb", buffering=0) as file:  # noqa: PTH123  # pathlib costs ten milliseconds
        file.write(text.encode())
