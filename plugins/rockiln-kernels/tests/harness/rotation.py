"""The commit → a number that picks what CI runs of what only the nightly run can do whole."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from rockiln_kernels.wanted_table import Wish, read_wishes

NIGHTLY = os.environ.get("ROCKILN_NIGHTLY") == "1"


def read_rotation() -> int:
    """ROCKILN_ROTATION, else from the commit, so that a failure can be run again; 0 outside of a repository."""
    if own := os.environ.get("ROCKILN_ROTATION"):
        return int(own)
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # git, as found
    return int(answer.stdout[:12], 16) if answer.returncode == 0 else 0


def pick_wishes() -> list[Wish]:
    """One wanted cell (dtypes) of each op on each arch, by rotation; all of them by night."""
    wanted: dict[tuple[str, str], list[Wish]] = {}
    for wish in read_wishes():
        if not wish.gap:
            wanted.setdefault((wish.op, wish.arch), []).append(wish)
    rotation = read_rotation()
    return [wish for group in wanted.values() for wish in (group if NIGHTLY else [group[rotation % len(group)]])]
