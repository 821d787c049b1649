"""A wheel → the same wheel with one file changed: what "after a one-file change" means to both builders."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path


def change_one_file(wheel_path: Path, changed_path: Path, text: str) -> None:
    """Append the comment `text` to the first .py file of the wheel, and keep its RECORD true."""
    with zipfile.ZipFile(wheel_path) as old, zipfile.ZipFile(changed_path, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = next(name for name in names if name.endswith(".py"))
        record_name = next(name for name in names if name.endswith(".dist-info/RECORD"))
        changed = old.read(chosen) + f"\n# {text}\n".encode()
        for name in names:
            if name == chosen:
                new.writestr(old.getinfo(name), changed)
            elif name == record_name:
                new.writestr(old.getinfo(name), _update_record(old.read(name).decode(), chosen, changed))
            else:
                new.writestr(old.getinfo(name), old.read(name))


def _update_record(record: str, name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    line = f"{name},sha256={digest},{len(content)}"
    return "\n".join(line if row.startswith(f"{name},") else row for row in record.splitlines()) + "\n"
