"""Writing whole files: the old one or the new one, whoever writes at once and whoever was killed before."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rockiln.disk import write_named, write_whole
from rockiln.errors import DiskError

WRITE_FOR_EVER = """
import sys
from pathlib import Path
from rockiln.disk import write_named, write_whole
while True:
    write_whole(Path(sys.argv[1]), sys.argv[2].encode() * 100_000)
    print(flush=True)
"""


@contextmanager
def files_limited_to(size_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_file_has_its_mode_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "below" / "file", b"text", 0o444)
    finally:
        os.umask(before)
    assert (tmp_path / "below" / "file").read_bytes() == b"text"
    assert stat.S_IMODE((tmp_path / "below" / "file").stat().st_mode) == 0o444
    assert names_in(tmp_path / "below") == ["file"]


def test_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", b"old")
    with files_limited_to(50_000), pytest.raises(DiskError, match="disk is full"):
        write_whole(tmp_path / "file", b"new" * 100_000)
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_what_a_killed_writer_left_is_written_over(tmp_path: Path) -> None:
    (tmp_path / ".file.partial").write_bytes(b"half of something much longer")
    write_whole(tmp_path / "file", b"text")
    assert (tmp_path / "file").read_bytes() == b"text"
    assert names_in(tmp_path) == ["file"]


def test_writers_of_one_file_wait_for_each_other(tmp_path: Path) -> None:
    texts = [bytes([number]) * 200_000 for number in range(6)]
    threads = [threading.Thread(target=write_whole, args=(tmp_path / "file", text)) for text in texts * 5]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "file").read_bytes() in texts
    assert names_in(tmp_path) == ["file"]


def test_killed_writers_leave_a_whole_file_and_let_go_of_it(tmp_path: Path) -> None:
    for letter in "abc":
        argv = [sys.executable, "-c", WRITE_FOR_EVER, str(tmp_path / "file"), letter]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            process.send_signal(signal.SIGKILL)
        content = (tmp_path / "file").read_bytes()
        assert content in {name.encode() * 100_000 for name in "abc"}
    write_whole(tmp_path / "file", b"last")
    assert names_in(tmp_path) == ["file"]


def test_what_a_user_named_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_named(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert names_in(tmp_path) == ["link", "real"]


def test_what_a_user_named_may_be_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_named(tmp_path / "pipe", b"text")
    reader.join()
    assert found == [b"text"]
    assert (tmp_path / "pipe").is_fifo()


def test_standard_output_is_written_to(tmp_path: Path) -> None:
    program = "import pathlib, rockiln.disk; rockiln.disk.write_named(pathlib.Path('/dev/stdout'), b'text')"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", program], check=True, stdout=out)
    assert (tmp_path / "out").read_bytes() == b"text"
    assert Path("/dev/stdout").is_symlink()


def test_full_device_stays_one_and_is_named() -> None:
    with pytest.raises(DiskError, match="/dev/full: the disk is full"):
        write_named(Path("/dev/full"), b"text")
    assert Path("/dev/full").is_char_device()
