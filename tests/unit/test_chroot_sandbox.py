"""Programs behind chroot: what they see, what is put back, and that it needs root."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rockiln.chroot_sandbox import ChrootSandbox
from rockiln.engines.protocol import Command, Mount
from rockiln.errors import EngineError

BUSYBOX = "/usr/bin/busybox"
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not Path(BUSYBOX).exists(),
    reason="needs root, and apt-get install busybox-static",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name in ("bin", "dev", "out", "contents"):
        (root / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "bin" / "busybox")
    return root


def run(tree: Path, script: str, *mounts: Mount, timeout_s: float = 20) -> tuple[int | None, str]:
    command = Command(argv=("/bin/busybox", "sh", "-c", script), timeout_s=timeout_s, env={"A": "b"}, mounts=mounts)
    done = ChrootSandbox().run(tree, command)
    return done.exit_code, done.stdout


def test_program_sees_the_tree_and_its_own_environment_only(tree: Path) -> None:
    code, said = run(tree, "echo $A $HOME; /bin/busybox ls /; exit 3")
    assert code == 3
    assert said.split() == ["b", "bin", "contents", "dev", "out"]


def test_what_is_written_comes_back_and_the_tree_is_as_before(tree: Path, tmp_path: Path) -> None:
    out, contents = tmp_path / "elsewhere", tmp_path / "contents"
    out.mkdir()
    (contents / "aa").mkdir(parents=True)
    (contents / "aa" / "one").write_text("1")
    mounts = (Mount(host_path=out, image_path="/out", writable=True), Mount(host_path=contents, image_path="/contents"))
    assert run(tree, "read x </contents/aa/one; echo got $x >/out/said", *mounts)[0] == 0
    assert (out / "said").read_text() == "got 1\n"
    assert list((tree / "out").iterdir()) == []


def test_time_limit_ends_it_and_mounts_come_back(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "elsewhere"
    out.mkdir()
    mount = Mount(host_path=out, image_path="/out", writable=True)
    assert run(tree, "exec /bin/busybox sleep 60", mount, timeout_s=0.5)[0] is None
    assert out.is_dir()


def test_null_device_takes_what_is_thrown_away(tree: Path) -> None:
    assert run(tree, "echo x >/dev/null; echo y >/dev/null")[0] == 0


def test_without_root_it_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EngineError, match="chroot needs root"):
        run(tree, "true")
