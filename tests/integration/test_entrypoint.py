"""The entrypoint under dash: what it says about a container, and that it never stands in the way of the command."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SHIPPED = Path(__file__).parents[2] / "src/rockiln/image_root/usr/lib/rockiln"
INSTALLED = "/usr/lib/rockiln"
NOBODY = 65534
SHM = "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime{} 0 0\n"

pytestmark = pytest.mark.skipif(not shutil.which("dash"), reason="dash is not installed")


class Container:
    """A folder that stands for a container: preflight looks below ROCKILN_ROOT, the scripts lie beside it."""

    def __init__(self, path: Path) -> None:
        self.root = path / "root"
        self.scripts = path / "scripts"
        self.scripts.mkdir(parents=True)
        for name in ("entrypoint", "preflight"):
            text = (SHIPPED / name).read_text().replace(INSTALLED, str(self.scripts))
            (self.scripts / name).write_text(text)
        self.add("proc/mounts", SHM.format(",size=8388608k"))

    def add(self, path: str, text: str = "", mode: int = 0o666) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)

    def add_gpu(self, mode: int = 0o666) -> None:
        self.add("dev/kfd", mode=mode)
        self.add("dev/dri/renderD128", mode=mode)

    def start(self, *argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": "/usr/bin:/bin", "ROCKILN_ROOT": str(self.root), **environ}
        user = NOBODY if os.geteuid() == 0 else None
        return subprocess.run(
            ["dash", self.scripts / "entrypoint", *argv], env=env, capture_output=True, text=True, check=False,
            user=user, group=user, extra_groups=None if user is None else (), timeout=20,
        )  # fmt: skip


@pytest.fixture
def container() -> Iterator[Container]:
    """Below a folder that everyone may enter, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Container(Path(folder))


def test_healthy_container_is_started_without_a_word(container: Container) -> None:
    container.add_gpu()
    done = container.start("printf", "%s|", "a b", "it's", "$x", "", "*")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a b|it's|$x||*|", "")


def test_command_gets_its_exit_code_and_replaces_the_shell(container: Container) -> None:
    container.add_gpu()
    assert container.start("sh", "-c", "exit 42").returncode == 42
    assert container.start("sh", "-c", "cat /proc/$$/comm").stdout == "sh\n"  # and not "dash"
    assert container.start("/no/such/program").returncode == 127


def test_without_devices_it_says_how_to_pass_them(container: Container) -> None:
    done = container.start("echo", "started")
    assert done.stdout == "started\n"
    assert "no GPU: /dev/kfd is not in this container" in done.stderr
    assert "--device /dev/kfd --device /dev/dri" in done.stderr
    assert "--device amd.com/gpu=all" in done.stderr


def test_without_render_nodes_it_asks_for_dri(container: Container) -> None:
    container.add("dev/kfd")
    assert "no /dev/dri/renderD*: docker run --device /dev/dri" in container.start("true").stderr


@pytest.mark.parametrize("path", ["dev/kfd", "dev/dri/renderD128"])
def test_refused_device_names_the_group_to_add(container: Container, path: str) -> None:
    container.add_gpu()
    container.add(path, mode=0o600)
    if os.geteuid() == 0:
        os.chown(container.root / path, 0, 992)
    gid = (container.root / path).stat().st_gid
    if os.geteuid() != 0:
        (container.root / path).chmod(0)
    done = container.start("true")
    assert f"{container.root}/{path} is there, but uid" in done.stderr
    assert f"docker run --group-add {gid}\n" in done.stderr
    assert f"supplementalGroups: [{gid}]" in done.stderr


def test_read_only_device_counts_as_refused(container: Container) -> None:
    container.add_gpu()
    container.add("dev/kfd", mode=0o444)
    assert "--group-add" in container.start("true").stderr


def test_library_path_is_warned_about(container: Container) -> None:
    container.add_gpu()
    assert "LD_LIBRARY_PATH=/host/lib goes before" in container.start("true", LD_LIBRARY_PATH="/host/lib").stderr
    assert not container.start("true", LD_LIBRARY_PATH="").stderr


def test_two_visible_device_variables_are_warned_about(container: Container) -> None:
    container.add_gpu()
    done = container.start("true", ROCR_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="1")
    assert "ROCR_VISIBLE_DEVICES=1 and HIP_VISIBLE_DEVICES=1 are both set" in done.stderr
    assert not container.start("true", ROCR_VISIBLE_DEVICES="1").stderr


@pytest.mark.parametrize(
    ("options", "warns"),
    [
        (",size=65536k", True), (",size=65536k,inode64", True), (",size=1048575k", True), (",size=1048576k", False),
        (",size=8388608k", False), ("", False), (",size=50%", False), (",size=k", False), (",size=12x4k", False),
    ],
)  # fmt: skip
def test_small_shared_memory_is_warned_about(container: Container, options: str, warns: bool) -> None:  # a table
    container.add_gpu()
    container.add("proc/mounts", "proc /proc proc rw 0 0\n" + SHM.format(options) + "tmpfs /x tmpfs size=1k 0 0\n")
    done = container.start("echo", "started")
    assert ("--shm-size 8G" in done.stderr) is warns
    assert done.stdout == "started\n"


def test_off_says_nothing(container: Container) -> None:
    done = container.start("echo", "started", ROCKILN_PREFLIGHT="off", LD_LIBRARY_PATH="/x")
    assert (done.stdout, done.stderr) == ("started\n", "")


def test_without_preflight_nothing_is_said(container: Container) -> None:
    (container.scripts / "preflight").unlink()
    done = container.start("echo", "started", LD_LIBRARY_PATH="/x")
    assert (done.stdout, done.stderr) == ("started\n", "")


def test_without_a_command_the_default_is_run(container: Container) -> None:
    container.add_gpu()
    (container.scripts / "default-command").write_text("set -- echo 'the default'\n")
    assert container.start().stdout == "the default\n"
    assert container.start("echo", "mine").stdout == "mine\n"


def test_it_takes_less_than_twenty_milliseconds(container: Container) -> None:
    """Best of twenty, compared with starting dash for nothing; the machine may be busy."""
    container.add_gpu()
    mounts = "".join(f"overlay /mnt/{n} overlay rw,lowerdir={'x' * 200} 0 0\n" for n in range(40))
    container.add("proc/mounts", mounts + SHM.format(",size=8388608k"))
    env = {"PATH": "/usr/bin:/bin", "ROCKILN_ROOT": str(container.root)}

    def time_start(*argv: str) -> float:
        start_s = time.perf_counter()
        subprocess.run(argv, env=env, check=True, capture_output=True)
        return time.perf_counter() - start_s

    entrypoint = str(container.scripts / "entrypoint")
    ours = min(time_start("dash", entrypoint, "true") for _ in range(20))
    bare = min(time_start("dash", "-c", "exec true") for _ in range(20))
    assert ours - bare < 0.020
