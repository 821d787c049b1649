"""Sandbox: advice for what the kernel refuses, links that stay inside, and what a command sees of the host."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rockiln.engines.protocol import Command, Mount
from rockiln.errors import EngineError
from rockiln.namespaces.root import place_in_root
from rockiln.sandbox import NamespaceSandbox, explain_refusal, parse_user
from tiny_image import compile_probe


def make_proc(folder: Path, settings: dict[str, str], seccomp: int = 0) -> Path:
    for name, value in settings.items():
        path = folder / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    (folder / "self").mkdir(parents=True)
    (folder / "self/status").write_text(f"Name:\tpython\nSeccomp:\t{seccomp}\nThreads:\t1\n")
    return folder


@pytest.mark.parametrize(
    ("settings", "seccomp", "number", "advice"),
    [
        ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, 0, errno.EPERM,
         "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
        ({"kernel/unprivileged_userns_clone": "0"}, 0, errno.EPERM, "sudo sysctl kernel.unprivileged_userns_clone=1"),
        ({"user/max_user_namespaces": "0"}, 2, errno.ENOSPC, "sudo sysctl user.max_user_namespaces=10000"),
        ({"user/max_user_namespaces": "9"}, 0, errno.ENOSPC, "sudo sysctl user.max_user_namespaces=10000"),
        ({"kernel/apparmor_restrict_unprivileged_userns": "0"}, 2, errno.EPERM, "--security-opt seccomp=unconfined"),
        ({}, 0, errno.EINVAL, "CONFIG_USER_NS"),
        ({}, 0, errno.EPERM, "dmesg"),
    ],
)  # fmt: skip
def test_refusal_names_the_setting(
    tmp_path: Path, settings: dict[str, str], seccomp: int, number: int, advice: str
) -> None:
    text = explain_refusal("user namespace", number, "", make_proc(tmp_path, settings, seccomp))
    assert text.startswith(f"the kernel refused the user namespace ({os.strerror(number)})")
    assert advice in text


@pytest.mark.parametrize(
    ("link", "path", "place"),
    [
        ("/etc", "/link/passwd", "etc/passwd"),
        ("../../../../etc", "/link/passwd", "etc/passwd"),
        ("/", "/link/link/etc", "etc"),
        ("missing", "/link/below", "missing/below"),
    ],
)
def test_links_of_a_tree_stay_inside_it(tmp_path: Path, link: str, path: str, place: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "link").symlink_to(link)
    assert place_in_root(str(tmp_path), path) == str(tmp_path / place)


def test_circle_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(OSError, match="too many symlinks"):
        place_in_root(str(tmp_path), "/one/file")


def test_user_must_be_numeric() -> None:
    assert parse_user("") == (0, 0)
    assert parse_user("7:8") == (7, 8)
    with pytest.raises(EngineError, match="'root' is not numeric"):
        parse_user("root")


@pytest.fixture(scope="module")
def tree_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name in ("proc", "sys", "dev", "tmp", "etc", "run", "data"):
        (root / name).mkdir()
    compile_probe(root)
    (root / "link").symlink_to("/data")
    return root


def run(tree_path: Path, *words: str, timeout_s: float = 20, **others: object) -> str:
    command = Command(argv=("/probe", *words), timeout_s=timeout_s, **others)  # type: ignore[arg-type]
    completed = NamespaceSandbox().run(tree_path, command)
    assert completed.stderr == ""
    return completed.stdout


@pytest.mark.userns
def test_command_writes_into_the_tree(tree_path: Path) -> None:
    assert run(tree_path, "put", "/data/file", "show", "/data/file") == "written\n"
    assert (tree_path / "data/file").read_text() == "written\n"


@pytest.mark.userns
def test_read_only_tree_stays_as_it_is(tree_path: Path) -> None:
    before = sorted(tree_path.rglob("*"))
    assert run(tree_path, "put", "/data/no", read_only_root=True).startswith("cannot write /data/no")
    assert sorted(tree_path.rglob("*")) == before


@pytest.mark.userns
def test_mount_on_a_link_lands_inside_the_tree(tree_path: Path, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("from the host")
    mounts = (Mount(host_path=tmp_path, image_path="/link/here"),)
    assert run(tree_path, "show", "/data/here/given", mounts=mounts) == "from the host"
    assert not Path("/data/here").exists()


@pytest.mark.userns
def test_mount_point_missing_in_a_read_only_tree_is_named(tree_path: Path, tmp_path: Path) -> None:
    mounts = (Mount(host_path=tmp_path, image_path="/nowhere"),)
    with pytest.raises(EngineError, match="at /nowhere") as caught:
        run(tree_path, "cwd", "", mounts=mounts, read_only_root=True)
    assert "/run or /tmp" in caught.value.hint


@pytest.mark.userns
def test_environment_is_exactly_what_was_given(tree_path: Path) -> None:
    assert run(tree_path, "env", "HOME", "env", "GIVEN", env={"GIVEN": "yes"}) == "(unset)\nyes\n"


@pytest.mark.userns
def test_host_files_and_processes_are_out_of_sight(tree_path: Path) -> None:
    assert run(tree_path, "show", f"/host{tree_path}/probe").startswith("cannot read")
    assert run(tree_path, "show", f"/proc/{os.getpid()}/status").startswith(f"cannot read /proc/{os.getpid()}")
    assert run(tree_path, "show", "/proc/self/mountinfo").count(" / / ") == 0


@pytest.mark.userns
def test_nothing_stays_behind_when_time_is_up(tree_path: Path) -> None:
    start_s = time.monotonic()
    assert run(tree_path, "child", "", "out", "kept", "sleep", "1000", timeout_s=1) == "kept"
    assert time.monotonic() - start_s < 3
    assert str(tree_path) not in Path("/proc/self/mountinfo").read_text()
    wait_until(lambda: not find_processes(b"/probe\0child\0\0out\0kept"))


@pytest.mark.userns
def test_commands_may_run_at_the_same_time(tree_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda number: run(tree_path, "out", str(number)), range(8)))
    assert said == [str(number) for number in range(8)]


RUN = (
    "import sys; from pathlib import Path; from rockiln.sandbox import NamespaceSandbox; "
    "from rockiln.engines.protocol import Command; "
    "print(NamespaceSandbox().run(Path(sys.argv[1]), Command(argv=tuple(sys.argv[2:]), timeout_s=60)).stdout)"
)


@pytest.mark.userns
def test_killed_caller_takes_the_command_along(tree_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", RUN, tree_path, "/probe", "child", "", "sleep", "999"]) as caller:
        wait_until(lambda: len(find_processes(b"/probe\0child\0\0sleep\0999")) == 2)
        caller.kill()
    wait_until(lambda: not find_processes(b"/probe\0child\0\0sleep\0999"))


@pytest.mark.userns
@pytest.mark.skipif(not shutil.which("unshare"), reason="util-linux is not installed")
def test_root_does_without_user_namespaces(tree_path: Path) -> None:
    forbid = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
    argv = ["unshare", "--map-root-user", "--user", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", forbid]
    argv += ["sh", sys.executable, "-c", RUN, str(tree_path), "/probe", "id", "", "show", "/proc/1/cmdline"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert said.startswith("0:0\n")
    assert "namespaces.enter" in said


def wait_until(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def find_processes(start: bytes) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path.parent.name] if path.read_bytes().startswith(start) else []
        except OSError:
            continue
    return found
