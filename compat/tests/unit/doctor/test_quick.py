"""`hipcompat doctor --quick` against the images' shell preflight: the same words and exit code, case by case."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import hipcompat
from hipcompat.doctor import Host, look_quickly
from hipcompat.doctor.report import format_quickly

SCRIPTS = Path(__file__).parents[4] / "src/rockiln/image_root/usr/lib/rockiln"
NOBODY = 65534
SHM = "shm /dev/shm tmpfs rw,nosuid{} 0 0\n"

CASES: tuple[tuple[str, dict[str, int], str, dict[str, str]], ...] = (
    ("healthy", {"kfd": 0o666, "dri/renderD128": 0o666}, ",size=8388608k", {}),
    ("nothing", {}, ",size=8388608k", {}),
    ("no render node", {"kfd": 0o666}, ",size=8388608k", {}),
    ("refused kfd", {"kfd": 0o600, "dri/renderD128": 0o666}, ",size=8388608k", {}),
    ("refused render", {"kfd": 0o666, "dri/renderD128": 0o600, "dri/renderD129": 0o600}, ",size=8388608k", {}),
    ("read-only", {"kfd": 0o444, "dri/renderD128": 0o444}, ",size=8388608k", {}),
    ("a card only", {"kfd": 0o666, "dri/card0": 0o666}, ",size=8388608k", {}),
    ("small shm", {"kfd": 0o666, "dri/renderD128": 0o666}, ",size=65536k,inode64", {}),
    ("just too small", {"kfd": 0o666, "dri/renderD128": 0o666}, ",size=1048575k", {}),
    ("just enough", {"kfd": 0o666, "dri/renderD128": 0o666}, ",size=1048576k", {}),
    ("no size", {"kfd": 0o666, "dri/renderD128": 0o666}, "", {}),
    ("odd size", {"kfd": 0o666, "dri/renderD128": 0o666}, ",size=50%", {}),
    ("no digits", {"kfd": 0o666, "dri/renderD128": 0o666}, ",size=k", {}),
    ("library path", {"kfd": 0o666, "dri/renderD128": 0o666}, "", {"LD_LIBRARY_PATH": "/host/lib"}),
    ("empty library path", {"kfd": 0o666, "dri/renderD128": 0o666}, "", {"LD_LIBRARY_PATH": ""}),
    ("clash", {}, "", {"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1", "LD_LIBRARY_PATH": "/x"}),
    ("one variable", {"kfd": 0o666}, ",size=64k", {"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": ""}),
)


@pytest.fixture
def root() -> Iterator[Path]:
    """Below a folder that everyone may enter, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _fill(root: Path, nodes: dict[str, int], options: str) -> None:
    (root / "proc").mkdir()
    (root / "proc/mounts").write_text(f"proc /proc proc rw 0 0\n{SHM.format(options)}tmpfs /x tmpfs size=1k 0 0\n")
    for name, mode in nodes.items():
        place = root / "dev" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("")
        place.chmod(mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="the devices must belong to another user than the one who looks")
@pytest.mark.skipif(not shutil.which("dash"), reason="dash is not installed")
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_quick_says_what_the_preflight_says(case: tuple[str, dict[str, int], str, dict[str, str]], root: Path) -> None:
    _, nodes, options, environ = case
    _fill(root, nodes, options)
    shell = subprocess.run(
        ["dash", "-c", f". {SCRIPTS / 'preflight'}"],
        env={"PATH": "/usr/bin:/bin", "ROCKILN_ROOT": str(root), **environ},
        user=NOBODY, group=NOBODY, extra_groups=(), capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    host = Host(root=str(root), environ=environ, uid=NOBODY, gids=frozenset({NOBODY}))
    assert shell.returncode == 0
    assert shell.stderr.replace(str(root), "").splitlines() == format_quickly(look_quickly(host)).splitlines()


def _call(*argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(hipcompat.__file__).parents[1])
    return subprocess.run(
        ["python3", "-m", "hipcompat", "doctor", *argv], capture_output=True, text=True, check=False, timeout=60,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": source, **environ},
    )  # fmt: skip


def test_quick_exits_with_0_as_the_preflight_does_unless_asked(root: Path) -> None:
    _fill(root, {}, "")
    done = _call("--quick", "--root", str(root))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("rockiln: no GPU: /dev/kfd is not in this container")
    assert _call("--quick", "--root", str(root), "--fail-on", "error").returncode == 3
    assert _call("--quick", "--root", str(root), ROCKILN_PREFLIGHT="off").stdout == ""


def test_full_exits_with_3_where_a_gpu_cannot_be_used(root: Path) -> None:
    _fill(root, {}, "")
    done = _call("--root", str(root))
    assert done.returncode == 3
    assert "hint: " in done.stderr
    assert _call("--root", str(root), "--fail-on", "never").returncode == 0
    assert _call("--root", str(root / "none")).returncode == 4


def test_quick_takes_less_than_three_tenths_of_a_second(root: Path) -> None:
    """Best of five, CPU time of the whole process, so that a busy machine does not count."""
    _fill(root, {"kfd": 0o666, "dri/renderD128": 0o666}, "")

    def time_call() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert _call("--quick", "--root", str(root)).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(time_call() for _ in range(5)) < 0.3
