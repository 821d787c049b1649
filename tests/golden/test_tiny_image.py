"""The digests of a tiny image are the committed ones, whatever the machine looks like.

They change when the format, the entrypoint, a label, rockiln's version or a compressor changes. If that was meant:
build_tiny_image.py says how to write the file anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "tiny_image.json").read_text(encoding="utf-8"))
NOBODY = 65534


def build(folder: Path, jobs: int = 2, umask: int = 0o022, user: int | None = None, **environ: str) -> object:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **environ}
    argv = [sys.executable, HERE / "build_tiny_image.py", folder, str(jobs)]
    done = subprocess.run(
        argv, env=env, check=True, capture_output=True, text=True, umask=umask, user=user, group=user,
        extra_groups=None if user is None else (), cwd=folder,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_digests_are_the_committed_ones(tmp_path: Path) -> None:
    assert build(tmp_path) == EXPECTED


@pytest.mark.parametrize("jobs", [1, 3])
def test_jobs_change_no_digest(jobs: int, tmp_path: Path) -> None:
    assert build(tmp_path, jobs) == EXPECTED


def test_surroundings_change_no_digest(tmp_path: Path) -> None:
    folder, scratch = tmp_path / "another" / "folder é", tmp_path / "scratch"
    folder.mkdir(parents=True)
    scratch.mkdir()
    environ = {
        "TMPDIR": str(scratch), "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "12345",
        "SOURCE_DATE_EPOCH": "1", "HOSTNAME": "elsewhere", "PYTHONUTF8": "0",
    }  # fmt: skip
    assert build(folder, umask=0o077, **environ) == EXPECTED


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_user_changes_no_digest() -> None:
    probe = [sys.executable, "-c", f"import rockiln; open({str(HERE / 'tiny_image.json')!r})"]
    env = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        subprocess.run(probe, user=NOBODY, group=NOBODY, env=env, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"an unprivileged user cannot run this Python and checkout: {error}")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, NOBODY, NOBODY)
        assert build(Path(folder), user=NOBODY) == EXPECTED
