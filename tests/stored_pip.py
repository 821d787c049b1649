"""A folder → the wheels of rockiln, of all it depends on, and of pip: for an install without a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from real_subjects import WHEEL_PLATFORMS

ROOT = Path(__file__).parents[1]


def download_wheels(folder: Path, python: str) -> None:
    """For a Python of this version on x86-64, from wherever this machine's pip downloads from."""
    folder.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
    (own,) = folder.glob("rockiln-*.whl")
    platforms = [f"--platform={platform}" for platform in (*WHEEL_PLATFORMS, "any")]
    command = [*pip, "download", "-q", "--only-binary=:all:", *platforms, f"--python-version={python}"]
    subprocess.run([*command, "--dest", str(folder), str(own), "pip"], check=True)
