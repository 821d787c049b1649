"""/etc/rockiln/version.json → what this image says it is; and how a check says that the machine lacks something."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

RECORD = Path("/etc/rockiln/version.json")
VENV = Path("/opt/venv")
UNAVAILABLE_CODE = 77


def read_record() -> dict[str, Any]:
    """The record that rockiln wrote when it made the image."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


def say_unavailable(reason: str) -> NoReturn:
    """End the check: neither passed nor failed, for this reason."""
    print(reason)
    sys.exit(UNAVAILABLE_CODE)


def find_absent(record: dict[str, Any], error: BaseException) -> str:
    """The entry of `absent` whose soname the error names; "" if the image never said that it lacks it."""
    return next((entry for entry in record["absent"] if entry.partition(":")[0] in str(error)), "")


def require_from_venv(module: object) -> None:
    """The module was imported from the virtual environment, not from the working folder or the system."""
    path = getattr(module, "__file__", None)
    assert path, f"{module!r} has no file: a folder of that name shadows it"
    assert Path(path).is_relative_to(VENV), f"imported from {path}, not from {VENV}"
