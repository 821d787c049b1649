# tier: cpu
# timeout-s: 60
"""The image's Python is the virtual environment's, nothing on its path is foreign, and modules come compiled."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from record import VENV, read_record

assert f"{sys.version_info[0]}.{sys.version_info[1]}" == read_record()["python"]
assert Path(sys.prefix) == VENV, sys.prefix
assert Path(sysconfig.get_path("purelib")).is_relative_to(VENV)
for name in ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LD_PRELOAD"):
    assert name not in os.environ, f"{name} changes what is loaded"

if shutil.which("bash"):
    argv = ["bash", "-lc", "command -v python"]
    found = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
    assert Path(found) == VENV / "bin/python", f"a login shell finds {found}"

site = Path(sysconfig.get_path("purelib"))
sources = [path for path in site.rglob("*.py") if path.parent.name != "__pycache__"]
tag = sys.implementation.cache_tag
uncompiled = [path for path in sources if not (path.parent / "__pycache__" / f"{path.stem}.{tag}.pyc").exists()]
assert len(uncompiled) <= len(sources) // 100, f"{len(uncompiled)} of {len(sources)} modules are not compiled"
print(f"{len(sources)} modules, {len(uncompiled)} of them compiled at import")
