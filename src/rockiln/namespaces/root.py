"""A tree on the host → the root of a new mount namespace: /proc, /sys, /dev, fresh folders and the mounts asked for."""

# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH114, PTH115, PTH116, PTH120, PTH211
# (pathlib costs ten milliseconds at start)

from __future__ import annotations

import errno
import functools
import os
import stat
from collections.abc import Callable, Iterator

from .kernel import (
    MNT_DETACH,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    Refusal,
    bind,
    call_libc,
    make_read_only,
    mount,
    mount_tmpfs,
    pivot_root,
    write_text,
)
from .request import Request

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
DEVICE_LINKS = (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
                ("stderr", "/proc/self/fd/2"), ("ptmx", "pts/ptmx"))
GPU_DEVICES = ("kfd", "dri")
GUARDED_PROC = ("sys", "sysrq-trigger", "irq", "bus", "fs")
"""What the host's own root could change through /proc; made read-only, as container engines do."""
HOST, ROOT = "/host", "/root"
"""Where the host and the new root stand while the sandbox is being built."""


def place_in_root(root: str, image_path: str) -> str:
    """Image path → path below `root`, symlinks followed as the image would: never out to the host."""
    pending, here, hops = image_path.split("/")[::-1], root, 0
    while pending:
        part = pending.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            here = here if here == root else os.path.dirname(here)
        elif os.path.islink(f"{here}/{part}"):
            hops += 1
            if hops > 40:
                raise OSError(errno.ELOOP, "too many symlinks", image_path)
            link = os.readlink(f"{here}/{part}")
            here = root if link.startswith("/") else here
            pending += link.split("/")[::-1]
        else:
            here = f"{here}/{part}"
    return here


def make_mount_point(image_path: str, *, folder: bool) -> str:
    """The place for a mount, made if it is missing and the root may be changed."""
    target = place_in_root(ROOT, image_path)
    if not os.path.lexists(target):
        os.makedirs(target if folder else os.path.dirname(target), exist_ok=True)
        if not folder:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    return target


def stand_between(tree_path: str) -> None:
    """Make / a small tmpfs that holds the whole host under HOST and an empty ROOT."""
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount_tmpfs(tree_path, "755")
    os.mkdir(f"{tree_path}{HOST}")
    os.mkdir(f"{tree_path}{ROOT}")
    pivot_root(tree_path, f"{tree_path}{HOST}")
    os.chdir("/")


def mount_tree(request: Request) -> bool:
    """Show the tree at ROOT. → whether it may be changed while the sandbox is built (read-only comes later then)."""
    tree_path = f"{HOST}{request.tree_path}"
    if request.copy_on_write and mount_overlay(tree_path):
        return True
    bind(tree_path, ROOT)
    if request.copy_on_write or request.read_only_root:
        make_read_only(ROOT)
        return False
    return True


def mount_overlay(tree_path: str) -> bool:
    """The tree below, memory above. False where the kernel has no overlayfs for user namespaces (before 5.11)."""
    for folder in ("/below", "/above"):
        os.mkdir(folder)
    mount_tmpfs("/above", "755")
    os.mkdir("/above/upper")
    os.mkdir("/above/work")
    os.chmod("/above/upper", stat.S_IMODE(os.stat(tree_path).st_mode))
    bind(tree_path, "/below")
    layers = "lowerdir=/below,upperdir=/above/upper,workdir=/above/work"
    for options in (f"{layers},userxattr", layers):
        try:
            mount("overlay", ROOT, "overlay", MS_NODEV, options)
        except OSError:
            continue
        return True
    return False


def mount_proc() -> None:
    target = make_mount_point("/proc", folder=True)
    try:
        mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    except OSError:  # a container that hides parts of /proc lets nobody mount a whole one
        bind(f"{HOST}/proc", target)
    for name in GUARDED_PROC:
        if os.path.exists(f"{target}/{name}"):
            bind(f"{target}/{name}", f"{target}/{name}")
            make_read_only(f"{target}/{name}")


def mount_sys() -> None:
    """A fresh one if allowed; else the host's, read-only with all below it; else none (programs do without)."""
    target = make_mount_point("/sys", folder=True)
    try:
        mount("sysfs", target, "sysfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    except OSError:
        bind(f"{HOST}/sys", target)
        make_read_only(target)


def mount_dev(*, gpus: bool) -> None:
    target = make_mount_point("/dev", folder=True)
    mount_tmpfs(target, "755")
    for name in DEVICES + (GPU_DEVICES if gpus else ()):
        source, node = f"{HOST}/dev/{name}", f"{target}/{name}"
        if not os.path.exists(source):
            continue
        if os.path.isdir(source):
            os.mkdir(node)
        else:
            os.close(os.open(node, os.O_CREAT | os.O_WRONLY, 0o666))
        bind(source, node)
    for name, link in DEVICE_LINKS:
        os.symlink(link, f"{target}/{name}")
    os.mkdir(f"{target}/shm")
    mount_tmpfs(f"{target}/shm", "1777")
    os.mkdir(f"{target}/pts")
    mount("devpts", f"{target}/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")


def mount_writable(request: Request, *, changeable: bool) -> None:
    """Fresh /tmp; under a read-only root also what programs cannot do without, and the folders asked for."""
    read_only = request.read_only_root or not changeable
    fresh = ["/tmp", *(["/run", "/var/tmp"] if read_only else [])]  # noqa: S108 - paths of the image
    for folder in fresh + ([] if changeable else request.writable_folders):
        target = place_in_root(ROOT, folder)
        if os.path.isdir(target):
            mount_tmpfs(target, "1777" if folder != "/run" else "755")
    for folder in request.writable_folders if changeable and read_only else ():
        target = place_in_root(ROOT, folder)
        if os.path.isdir(target):
            bind(target, target)


def mount_bound(host_path: str, image_path: str, *, writable: bool) -> None:
    source = f"{HOST}{host_path}"
    target = make_mount_point(image_path, folder=os.path.isdir(source))
    bind(source, target)
    if not writable:
        make_read_only(target)


def mount_hosts() -> None:
    """An /etc/hosts that knows localhost: every container engine makes one."""
    write_text("/hosts", "127.0.0.1\tlocalhost rockiln\n::1\tlocalhost\n")
    bind("/hosts", make_mount_point("/etc/hosts", folder=False))


def list_steps(request: Request) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is mounted on the tree, in order; each with a name for error messages."""
    yield "/proc", mount_proc
    yield "/sys", mount_sys
    yield "/dev", lambda: mount_dev(gpus=request.gpus)
    for host_path, image_path, writable in request.mounts:
        mounted = functools.partial(mount_bound, host_path, image_path, writable=writable)
        yield f"{host_path} at {image_path}", mounted
    yield f"working directory {request.workdir}", lambda: make_mount_point(request.workdir, folder=True)


def build_root(request: Request) -> None:
    step = "mounts"
    try:
        stand_between(request.tree_path)
        changeable = mount_tree(request)
        mount_writable(request, changeable=changeable)
        for step, build in list_steps(request):  # noqa: B007 - read when it fails
            build()
        if request.copy_on_write and changeable:
            step = "/etc/hosts"
            mount_hosts()
            if request.read_only_root:  # the root alone; what is mounted on it stays as it is
                mount("", ROOT, "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NODEV)
    except OSError as error:
        raise Refusal(step, error) from error


def leave_host() -> None:
    """Make ROOT the root; nothing of the host is reachable afterwards but what was mounted."""
    os.chdir(ROOT)
    pivot_root(".", ".")
    call_libc("umount2", b".", MNT_DETACH)
    os.chdir("/")
