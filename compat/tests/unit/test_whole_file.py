"""What is written appears whole in place of a file, goes through links, and never takes the place of a device."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hipcompat.whole_file import write_whole


def test_a_link_stays_a_link_and_nothing_is_left_beside(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "file", tmp_path / "link"
    link.symlink_to(target)
    for content in (b"first", b"second"):
        write_whole(link, content)
        assert (link.is_symlink(), target.read_bytes()) == (True, content)
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["file"]


def test_what_is_there_stays_where_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    (tmp_path / "file.part").mkdir()
    with pytest.raises(IsADirectoryError, match=r"file'$"):
        write_whole(tmp_path / "file", b"after")
    with pytest.raises(FileNotFoundError, match=r"nowhere/file'$"):
        write_whole(tmp_path / "nowhere" / "file", b"after")
    assert (tmp_path / "file").read_text() == "before"


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"content")
    reader.join(timeout=20)
    assert (read, stat.S_ISFIFO(pipe.stat().st_mode)) == ([b"content"], True)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("is_file", [True, False])
def test_standard_output_by_its_name_is_written_to(name: str, is_file: bool, tmp_path: Path) -> None:
    imports = "from pathlib import Path; from hipcompat.whole_file import write_whole"
    command = [sys.executable, "-c", f"{imports}; write_whole(Path({name!r}), b'x'); print('y')"]
    if is_file:
        with (tmp_path / "out").open("ab") as out:
            subprocess.run(command, stdout=out, check=True)
        told = (tmp_path / "out").read_text()
    else:
        told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert told == "xy\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"] * is_file
