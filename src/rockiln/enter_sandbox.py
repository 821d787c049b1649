"""A JSON request on stdin → one command running in namespaces of its own. A program of its own, started by sandbox.py.

Standard library only, and no import of rockiln: it runs under `python -I -S`, so that it starts in a few milliseconds
and forks before any thread exists. Three processes: this one makes the namespaces and waits; its child is process 1
of the new process namespace, mounts, and reaps; the grandchild becomes the command. Whoever dies takes the rest along.
"""

# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH114, PTH115, PTH116, PTH120, PTH123, PTH211
# (pathlib costs ten milliseconds at start)

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import json
import os
import select
import signal
import socket
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
SYS_MOUNT_SETATTR = 442
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1

KEPT_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 29, 31})
"""Docker's default set without mknod, by number (linux/capability.h)."""
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
DEVICE_LINKS = (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
                ("stderr", "/proc/self/fd/2"), ("ptmx", "pts/ptmx"))
GPU_DEVICES = ("kfd", "dri")
GUARDED_PROC = ("sys", "sysrq-trigger", "irq", "bus", "fs")
"""What the host's own root could change through /proc; made read-only, as container engines do."""
HOST, ROOT = "/host", "/root"
"""Where the host and the new root stand while the sandbox is being built."""


class BoundPath(NamedTuple):
    """A host path made visible inside."""

    host_path: str
    image_path: str
    writable: bool


class Request(NamedTuple):
    """What sandbox.py asks for. Every host path is real: no symlink in it."""

    parent_pid: int
    tree_path: str
    argv: list[str]
    env: dict[str, str]
    workdir: str
    uid: int
    gid: int
    mounts: list[list[str | bool]]
    read_only_root: bool
    copy_on_write: bool
    writable_folders: list[str]
    gpus: bool


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


# --- the first process: namespaces -----------------------------------------------------------------------------------


def write_text(path: str, text: str) -> None:
    """Unbuffered bytes: an encoding would be imported when the host's files are already out of sight."""
    with open(path, "wb", buffering=0) as file:
        file.write(text.encode())


def read_id_ranges(kind: str) -> str:
    """The ids that this process itself may use, mapped to themselves."""
    with open(f"/proc/self/{kind}_map", "rb") as file:
        rows = [line.split() for line in file.read().decode().splitlines()]
    return "".join(f"{first} {first} {count}\n" for first, _, count in rows)


def start_id_mapper() -> tuple[int, int]:
    """A child that stays outside and maps all ids once told to: only possible for root. → its pid, and the pipe."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(write_end)
        told, caller = os.read(read_end, 1), os.getppid()
        try:
            if told:
                write_text(f"/proc/{caller}/uid_map", read_id_ranges("uid"))
                write_text(f"/proc/{caller}/gid_map", read_id_ranges("gid"))
        except OSError:
            os._exit(1)
        os._exit(0 if told else 1)
    os.close(read_end)
    return pid, write_end


def enter_user_namespace(uid: int, gid: int) -> bool:
    """Root maps every id to itself; anyone else becomes `uid`, alone. → whether other ids exist inside."""
    own_uid, own_gid = os.geteuid(), os.getegid()
    mapper = start_id_mapper() if own_uid == 0 else None
    try:
        call_libc("unshare", CLONE_NEWUSER)
        if mapper:
            os.write(mapper[1], b"1")
    finally:
        if mapper:
            os.close(mapper[1])
            mapped = os.waitpid(mapper[0], 0)[1] == 0
    if mapper and mapped:
        return True
    write_text("/proc/self/setgroups", "deny")
    write_text("/proc/self/uid_map", f"{uid} {own_uid} 1\n")
    write_text("/proc/self/gid_map", f"{gid} {own_gid} 1\n")
    return False


def enter_namespaces(request: Request) -> bool:
    """→ whether the command's user must be set by setuid (else the map has done it)."""
    many_ids = True
    try:
        many_ids = enter_user_namespace(request.uid, request.gid)
    except OSError as error:
        if os.geteuid() != 0:
            raise Refusal("user namespace", error) from error
    try:
        call_libc("unshare", CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)
    except OSError as error:
        raise Refusal("mount and process namespaces", error) from error
    return many_ids


def die_with_parent() -> None:
    call_libc("prctl", PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


# --- the second process: mounts --------------------------------------------------------------------------------------


def stand_between(tree_path: str) -> None:
    """Make / a small tmpfs that holds the whole host under HOST and an empty ROOT."""
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount_tmpfs(tree_path, "755")
    os.mkdir(f"{tree_path}{HOST}")
    os.mkdir(f"{tree_path}{ROOT}")
    pivot_root(tree_path, f"{tree_path}{HOST}")
    os.chdir("/")


def pivot_root(new: str, old: str) -> None:
    call_libc("syscall", SYS_PIVOT_ROOT[os.uname().machine], new.encode(), old.encode())


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


def mount_bound(bound: BoundPath) -> None:
    source = f"{HOST}{bound.host_path}"
    target = make_mount_point(bound.image_path, folder=os.path.isdir(source))
    bind(source, target)
    if not bound.writable:
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
        bound = BoundPath(str(host_path), str(image_path), bool(writable))
        yield f"{bound.host_path} at {bound.image_path}", lambda bound=bound: mount_bound(bound)
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
            if request.read_only_root:
                seal_root()
    except OSError as error:
        raise Refusal(step, error) from error


def seal_root() -> None:
    """Make the root alone read-only; what is mounted on it stays as it is."""
    mount("", ROOT, "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NODEV)


def leave_host() -> None:
    """Make ROOT the root; nothing of the host is reachable afterwards but what was mounted."""
    os.chdir(ROOT)
    pivot_root(".", ".")
    call_libc("umount2", b".", MNT_DETACH)
    os.chdir("/")


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unbound:
        fcntl.ioctl(unbound, 0x8914, struct.pack("16sH14x", b"lo", 0x41))  # SIOCSIFFLAGS, IFF_UP | IFF_RUNNING


# --- the third process: the command ----------------------------------------------------------------------------------


def give_up_privileges(request: Request, *, many_ids: bool) -> None:
    for capability in set(range(64)) - KEPT_CAPABILITIES:
        try:
            call_libc("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
        except OSError:
            continue  # this kernel knows fewer
    if many_ids:
        with contextlib.suppress(PermissionError):  # root in a namespace that somebody else mapped may not
            os.setgroups([])
        os.setgid(request.gid)
        os.setuid(request.uid)
    call_libc("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def become_command(request: Request, *, many_ids: bool) -> NoReturn:
    try:
        give_up_privileges(request, many_ids=many_ids)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and exec would hand that down
            signal.signal(number, signal.SIG_DFL)
        os.chdir(request.workdir)
        os.execvpe(request.argv[0], request.argv, request.env)  # noqa: S606 - no shell is wanted
    except OSError as error:
        raise Refusal(f"start of {request.argv[0]}", error) from error


def be_first_process(request: Request, report: int, lifeline: int, *, many_ids: bool) -> NoReturn:
    die_with_parent()
    if select.select([lifeline], [], [], 0)[0]:
        os._exit(1)  # the first process died before it could take this one along
    os.umask(0o022)
    build_root(request)
    raise_loopback()
    socket.sethostname("rockiln")
    leave_host()
    command_pid = os.fork()
    if command_pid == 0:
        run_reporting(report, lambda: become_command(request, many_ids=many_ids))
    ended_pid, status = os.wait()
    while ended_pid != command_pid:
        ended_pid, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    tell(report, {"exit_code": code if code >= 0 else 128 - code})
    os._exit(0)


def tell(report: int, facts: dict[str, str | int]) -> None:
    os.write(report, json.dumps(facts).encode() + b"\n")


def run_reporting(report: int, action: Callable[[], object]) -> NoReturn:
    """Run the last action of a process; whatever stops it is told, and the process ends."""
    try:
        action()
    except Refusal as refusal:
        tell(report, {"step": refusal.step, "errno": refusal.error.errno or 0, "reason": str(refusal.error)})
    except OSError as error:
        tell(report, {"step": "sandbox", "errno": error.errno or 0, "reason": str(error)})
    except Exception as error:  # noqa: BLE001 - a fault of this program is told too, not swallowed by _exit
        tell(report, {"step": "sandbox", "errno": 0, "reason": repr(error)})
    finally:
        os._exit(1)


def main() -> None:
    report = int(sys.argv[1])
    os.set_inheritable(report, False)
    request = Request(**json.load(sys.stdin))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    run_reporting(report, lambda: start(request, report))


def start(request: Request, report: int) -> NoReturn:
    many_ids = enter_namespaces(request)
    die_with_parent()
    if os.getppid() != request.parent_pid:
        os._exit(1)
    lifeline, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(held)
        run_reporting(report, lambda: be_first_process(request, report, lifeline, many_ids=many_ids))
    os.waitpid(pid, 0)
    os._exit(0)


if __name__ == "__main__":
    main()
