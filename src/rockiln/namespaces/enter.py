"""A JSON request on stdin → one command, running in namespaces of its own.

Three processes: the first makes the namespaces and waits; its child is process 1 of the new process namespace, mounts,
and reaps; the grandchild becomes the command. Whoever dies takes the rest along.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import NoReturn

from .ids import has_other_ids
from .kernel import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    PR_CAPBSET_DROP,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    Refusal,
    call_libc,
    write_text,
)
from .request import Request
from .root import build_root, leave_host

KEPT_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 29, 31})
"""Docker's default set without mknod, by number (linux/capability.h)."""


def read_id_ranges(kind: str) -> str:
    """The ids that this process itself may use, mapped to themselves."""
    with open(f"/proc/self/{kind}_map", "rb") as file:  # noqa: PTH123  # pathlib costs ten milliseconds
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
    """A root that has other ids maps them all; anyone else becomes `uid`, alone. → whether other ids exist inside."""
    own_uid, own_gid = os.geteuid(), os.getegid()
    mapper = start_id_mapper() if has_other_ids() else None
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


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unbound:
        fcntl.ioctl(unbound, 0x8914, struct.pack("16sH14x", b"lo", 0x41))  # SIOCSIFFLAGS, IFF_UP | IFF_RUNNING


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


def main(report: int) -> None:
    """`report` is the descriptor to which the outcome is told, as a line of JSON."""
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

