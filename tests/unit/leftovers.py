"""What kills and bad disks leave behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRATCH_AND_DIE = """
import os, signal, sys
from pathlib import Path
from rockiln.scratch import Scratch
scratch = Scratch(Path(sys.argv[1]))
(scratch.path / "half").write_bytes(b"half")
print(scratch.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def leave_scratch(parent: Path) -> Path:
    """A scratch folder below `parent` that its process did not live to remove; returns the file in it."""
    done = subprocess.run(
        [sys.executable, "-c", SCRATCH_AND_DIE, str(parent)], capture_output=True, text=True, check=False
    )
    left_path = Path(done.stdout.strip()) / "half"
    assert left_path.is_file(), done.stderr
    return left_path


def flip_byte(path: Path, place: int | None = None) -> None:
    """Change one bit, in the middle if nothing is said; size, mode and hard links stay."""
    mode = path.stat().st_mode
    path.chmod(mode | 0o200)
    with path.open("r+b") as file:
        content = file.read()
        place = len(content) // 2 if place is None else place
        file.seek(place)
        file.write(bytes([content[place] ^ 1]))
    path.chmod(mode)
