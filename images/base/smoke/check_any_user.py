# tier: cpu
# timeout-s: 120
# user: 54321:54321
"""A user whom the image does not know can import the framework and write where caches go."""

import importlib
import os
import tempfile
from pathlib import Path

from record import read_record, require_from_venv

assert os.getuid() == 54321
os.environ["JAX_PLATFORMS"] = "cpu"
require_from_venv(importlib.import_module(read_record()["framework"]))

caches = [path for name, path in os.environ.items() if name.endswith(("_CACHE_DIR", "_DB_PATH")) and path[:1] == "/"]
for folder in [*caches, tempfile.gettempdir(), os.getcwd()]:  # noqa: PTH109
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(b"written")
for path in ("/opt/venv/bin/python", "/etc/passwd", "/usr/bin/env"):
    assert not os.access(path, os.W_OK), f"anybody may overwrite {path}"
print(f"writable: {', '.join([*caches, tempfile.gettempdir(), os.getcwd()])}")  # noqa: PTH109
