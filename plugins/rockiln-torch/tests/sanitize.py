"""native/ built with the sanitizers of addresses and of undefined behaviour → the library's tests on it.

    python tests/sanitize.py [PYTEST ARGUMENTS]

Needs hatchling and what g++ -fsanitize=address,undefined needs. Exits as pytest does; 1 where a sanitizer that must see
a fault sees none. torch itself is not instrumented: of it, only what it allocates is watched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hatch_build import FLAGS, LIBRARY, compile_library  # noqa: E402  # after the path above

SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1")
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=99",  # Python and torch keep what they have to the end
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "PYTHONMALLOC": "malloc",
}
PRELOADED = ("libasan.so", "libstdc++.so")
"""Before Python asks for memory; and the second, since the first looks for what throws, at its start only."""
TESTS = ("tests/cpu", *(f"tests/test_{name}.py" for name in ("native", "ops", "processes", "random_ops")))
FAULT = """
extern "C" int read_past(int place) {
  int* volatile four = new int[4]();
  const int read = four[place];
  delete[] four;
  return read;
}
"""


def find_library(name: str) -> str:
    """Where g++ has it."""
    asked = ["g++", f"-print-file-name={name}"]
    return str(Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()).resolve())


def sees_fault(folder: Path, environ: dict[str, str]) -> bool:
    """Whether a read behind an allocation, of a library that Python loads, ends the process."""
    (folder / "fault.cc").write_text(FAULT, encoding="utf-8")
    library = folder / "fault.so"
    subprocess.run(["g++", *SANITIZED, "-shared", "-fPIC", "-o", library, folder / "fault.cc"], check=True)
    code = f"import ctypes; ctypes.CDLL({str(library)!r}).read_past"
    ends = [subprocess.run([sys.executable, "-c", f"{code}({place})"], env=environ, capture_output=True, check=False)
            for place in (3, 4)]  # fmt: skip
    return ends[0].returncode == 0 and b"heap-buffer-overflow" in ends[1].stderr


def main() -> int:
    """Build a copy of the package, beside which the library is found first, and test that."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        preload = " ".join(map(find_library, PRELOADED))
        environ = {**os.environ, **OPTIONS, "LD_PRELOAD": preload, "PYTHONPATH": str(folder / "src")}
        if not sees_fault(folder, environ):
            sys.stderr.write("the sanitizer sees no fault where there is one\n")
            return 1
        shutil.copytree(ROOT / "src", folder / "src")
        flags = tuple(flag for flag in FLAGS if flag not in {"-s", "-O2"})
        compile_library(ROOT, folder / "src" / "rockiln_torch" / LIBRARY, (*flags, *SANITIZED))
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(sys.argv[1:] or TESTS)]
        return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
