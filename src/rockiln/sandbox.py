"""Tree + Command → Completed: a command run in namespaces of its own, with nothing but the kernel.

No daemon, no root, no program besides Python. The folder namespaces/ does the kernel's part.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rockiln.engines.protocol import Command, Completed
from rockiln.errors import EngineError, UnavailableError
from rockiln.namespaces.request import Request

PROBE_TIMEOUT_S = 20.0
ENTER = "import sys; sys.path.append(sys.argv[1]); from namespaces.enter import main; main(int(sys.argv[2]))"
"""The program that enters the namespaces: without rockiln itself, whose imports would cost more than the start."""
FORBIDDING_SYSCTLS = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),  # Ubuntu since 23.10
    ("kernel/unprivileged_userns_clone", "0", "1"),  # Debian before 11
    ("user/max_user_namespaces", "0", "10000"),  # RHEL 7 and hardened hosts
)
"""Setting below /proc/sys, the value that forbids user namespaces, the value that allows them."""
CONTAINER_ADVICE = (
    "start the container with --privileged, or with --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined"
)


class Sandbox(Protocol):
    """Runs a program of an unpacked tree, shut off from the host: no network, no host files, no host processes."""

    def obstacle(self) -> str:
        """Why it cannot work here, with what would help; "" when it can."""

    def run(self, tree_path: Path, command: Command) -> Completed:
        """Run to the end or the time limit. `env` is the whole environment; "" for `workdir` means "/"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSandbox:
    """Linux namespaces. The tree itself is the root: what a command writes stays there, unless `read_only_root`.

    Root sees all ids as they are. Anyone else is one id inside: uid 0, or the `user` asked for.
    """

    copy_on_write: bool = False
    """Writes go to memory and vanish. Without overlayfs the root is read-only, but for `writable_folders`."""
    writable_folders: tuple[str, ...] = ()
    """Stay writable even where the root is read-only."""

    def obstacle(self) -> str:
        with tempfile.TemporaryDirectory(prefix="rockiln-probe-") as folder:
            for name in ("proc", "sys", "dev", "tmp"):
                (Path(folder) / name).mkdir()
            probe = Command(argv=("/no-such-program",), timeout_s=PROBE_TIMEOUT_S)
            report, _ = self._start(Path(folder), probe)
        step = str(report.get("step", ""))
        if step.startswith("start of"):
            return ""  # everything worked, up to the program that does not exist
        return explain_refusal(step or "start", int(report.get("errno", 0)), str(report.get("reason", "")))

    def run(self, tree_path: Path, command: Command) -> Completed:
        if not tree_path.is_dir():
            raise EngineError(f"{tree_path}: no folder to run {' '.join(command.argv)} in")
        report, completed = self._start(tree_path, command)
        if "step" in report:
            raise _refusal_error(tree_path, command, report)
        if completed.exit_code is None:
            return completed
        if "exit_code" not in report:
            raise EngineError(
                f"{tree_path}: the sandbox for {command.argv[0]} ended without a word: {completed.stderr[-500:]}",
                hint="is the machine out of memory? `dmesg` says so",
            )
        return completed

    def _start(self, tree_path: Path, command: Command) -> tuple[dict[str, str | int], Completed]:
        request = self._make_request(tree_path, command)
        read_end, write_end = os.pipe()
        with os.fdopen(read_end, "rb") as reports:
            argv = [sys.executable, "-I", "-S", "-X", "utf8", "-c", ENTER, str(Path(__file__).parent), str(write_end)]
            start_s = time.monotonic()
            try:
                process = subprocess.Popen(
                    argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    pass_fds=(write_end,), start_new_session=True,
                )
            finally:
                os.close(write_end)
            stdout, stderr, ended = _communicate(process, json.dumps(request._asdict()).encode(), command.timeout_s)
            duration_s = time.monotonic() - start_s
            lines = reports.read().splitlines()
        report: dict[str, str | int] = json.loads(lines[0]) if lines else {}
        exit_code = int(report.get("exit_code", -1)) if ended else None
        return report, Completed(
            exit_code=exit_code,
            stdout=stdout.decode(errors="replace"),
            stderr=stderr.decode(errors="replace"),
            duration_s=duration_s,
        )

    def _make_request(self, tree_path: Path, command: Command) -> Request:
        uid, gid = parse_user(command.user)
        return Request(
            parent_pid=os.getpid(),
            tree_path=os.path.realpath(tree_path),
            argv=list(command.argv),
            env=dict(command.env),
            workdir=command.workdir or "/",
            uid=uid,
            gid=gid,
            mounts=[(os.path.realpath(m.host_path), m.image_path, m.writable) for m in command.mounts],
            read_only_root=command.read_only_root,
            copy_on_write=self.copy_on_write,
            writable_folders=list(self.writable_folders),
            gpus=command.gpus,
        )


def parse_user(user: str) -> tuple[int, int]:
    """ "uid[:gid]" → both; without a gid it is 0, as container engines have it."""
    uid, _, gid = user.partition(":")
    try:
        return int(uid or 0), int(gid or 0)
    except ValueError:
        raise EngineError(f"user {user!r} is not numeric", hint="write uid[:gid], for example 1000:1000") from None


def _communicate(process: subprocess.Popen[bytes], request: bytes, timeout_s: float) -> tuple[bytes, bytes, bool]:
    """→ stdout, stderr, whether it ended by itself. Killing the first process kills all of them."""
    ended = True
    try:
        stdout, stderr = process.communicate(request, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        ended = False
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return stdout, stderr, ended


def _refusal_error(tree_path: Path, command: Command, report: dict[str, str | int]) -> EngineError | UnavailableError:
    step, number, reason = str(report["step"]), int(report["errno"]), str(report["reason"])
    if step.startswith("start of"):
        hint = "is it in the tree, and for this machine's architecture?"
        return EngineError(f"{tree_path}: cannot start {' '.join(command.argv)}: {reason}", hint=hint)
    if step in {"user namespace", "mount and process namespaces", "mounts"}:
        return UnavailableError(f"no sandbox here: {explain_refusal(step, number, reason)}")
    hint = "the tree has no such path and must not be changed: mount below /run or /tmp"
    return EngineError(f"{tree_path}: sandbox: {step}: {reason}", hint=hint if number == errno.EROFS else "")


def explain_refusal(step: str, number: int, reason: str, proc_path: Path = Path("/proc")) -> str:
    """What the kernel refused, which setting made it do so, and what to set."""
    said = f"the kernel refused the {step} ({reason or os.strerror(number)})"
    for setting, value, needed in FORBIDDING_SYSCTLS:
        if _read_sysctl(proc_path, setting) == value:
            name = setting.replace("/", ".")
            return f"{said}: {name} is {value}; to allow it: sudo sysctl {name}={needed}"
    if _has_seccomp_filter(proc_path):
        return f"{said}: a seccomp filter forbids it, as container engines set by default; {CONTAINER_ADVICE}"
    if number == errno.ENOSPC:
        return f"{said}: too many user namespaces; sudo sysctl user.max_user_namespaces=10000"
    if number == errno.EINVAL:
        return f"{said}: this kernel was built without namespaces (CONFIG_USER_NS)"
    return f"{said}: a security module may forbid it; `dmesg` tells which"


def _read_sysctl(proc_path: Path, name: str) -> str:
    try:
        return (proc_path / "sys" / name).read_text().strip()
    except OSError:
        return ""


def _has_seccomp_filter(proc_path: Path) -> bool:
    try:
        return "\nSeccomp:\t2\n" in (proc_path / "self/status").read_text()
    except OSError:
        return False
