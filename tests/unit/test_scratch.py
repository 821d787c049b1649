"""Scratch: private while it is used, gone afterwards, and gone with the next look when its process was killed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from threading import Barrier, Thread

from leftovers import leave_scratch

from rockiln.scratch import Scratch, remove_abandoned, remove_folder

MAKE_AND_END = """
import sys
from pathlib import Path
from rockiln.scratch import Scratch
scratch = Scratch(Path(sys.argv[1]))
(scratch.path / "half").write_bytes(b"half")
"""


def test_nothing_is_left_after_the_block(tmp_path: Path) -> None:
    with Scratch(tmp_path / "partial") as folder:
        (folder / "below").mkdir()
        (folder / "below" / "file").write_bytes(b"x")
    assert list((tmp_path / "partial").iterdir()) == []


def test_nothing_is_left_when_nobody_holds_it(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    assert scratch.path.is_dir()
    del scratch
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_when_the_process_ends(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", MAKE_AND_END, str(tmp_path)], check=True)
    assert list(tmp_path.iterdir()) == []


def test_next_scratch_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    left_path = leave_scratch(tmp_path)
    with Scratch(tmp_path) as folder:
        assert not left_path.parent.exists()
        assert sorted(tmp_path.iterdir()) == [folder, folder.with_suffix(".lock")]


def test_scratch_in_use_is_left_alone(tmp_path: Path) -> None:
    with Scratch(tmp_path) as folder:
        (folder / "mine").write_bytes(b"x")
        remove_abandoned(tmp_path)
        with Scratch(tmp_path):
            assert (folder / "mine").read_bytes() == b"x"


def test_removal_that_was_itself_cut_off_is_finished(tmp_path: Path) -> None:
    left_path = leave_scratch(tmp_path)
    remove_folder(left_path.parent)
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_forbid_writing_are_removed_too(tmp_path: Path) -> None:
    with Scratch(tmp_path) as folder:
        (folder / "closed" / "below").mkdir(parents=True)
        (folder / "closed" / "below").chmod(0o555)
        (folder / "closed").chmod(0o000)
    assert list(tmp_path.iterdir()) == []


def test_many_at_once_get_a_folder_each(tmp_path: Path) -> None:
    """Each looks for abandoned ones while others are between making a lock and holding it."""
    start, failed = Barrier(8), []

    def make_and_use() -> None:
        start.wait()
        for number in range(25):
            with Scratch(tmp_path) as folder:
                (folder / "file").write_text(str(number))
                if os.listdir(folder) != ["file"]:  # noqa: PTH208  # one call
                    failed.append(folder)

    threads = [Thread(target=make_and_use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert list(tmp_path.iterdir()) == []
