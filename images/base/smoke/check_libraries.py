# tier: cpu
# timeout-s: 60
"""The loader's cache lists the system's libraries, and the names that programs open at run time resolve."""

import ctypes
import re
import subprocess
from pathlib import Path

from record import find_absent, read_record

record = read_record()
listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
libraries = dict(re.findall(r"^\s(\S+) \(.*\) => (\S+)$", listed, re.MULTILINE))
assert len(libraries) > 20, listed
assert {"libc.so.6", "libstdc++.so.6", "libgcc_s.so.1"} <= libraries.keys(), sorted(libraries)
for name, path in libraries.items():
    assert Path(path).exists(), f"{name} => {path}, which is not there"

wanted = ["libstdc++.so.6", *(["libamdhip64.so.7", "libhsa-runtime64.so.1", "libnuma.so.1"] if record["rocm"] else [])]
for name in wanted:
    try:
        ctypes.CDLL(name)
    except OSError as error:
        assert find_absent(record, error), error
print(f"{len(libraries)} libraries")
