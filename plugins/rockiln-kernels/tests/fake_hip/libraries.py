"""C++ sources → librockiln.so and the fake libamdhip64, each compiled once for a set of flags."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
LAUNCHER = ROOT / "launcher"
HEADERS = (LAUNCHER / "rockiln.h", LAUNCHER / "rockiln_dispatch.h")
FAKE = Path(__file__).with_name("fake_hip.cc")
DEVICE_MEMORY = Path(__file__).with_name("device_memory.h")
"""What the frameworks' tests copy to the fake and back with."""
TEST_FLAGS = ("-std=c++17", "-O1", "-g", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pthread")


@lru_cache(maxsize=1)
def load_hook() -> ModuleType:
    """hatch_build.py, which compiles the library of the wheel."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=4)
def build_launcher() -> Path:
    """librockiln.so, as in the wheel."""
    folder = find_folder((*sorted((LAUNCHER / "src").iterdir()), *HEADERS, ROOT / "hatch_build.py"))
    path = folder / "librockiln.so"
    if not path.is_file():
        new = path.with_suffix(f".{os.getpid()}")
        load_hook().compile_launcher(LAUNCHER, new)
        new.replace(path)
    return path


@lru_cache(maxsize=4)
def build_fake() -> Path:
    """The fake libamdhip64.so.7."""
    return compile_cpp("libamdhip64.so.7", (FAKE,), ("-shared",))


def compile_cpp(name: str, sources: Sequence[Path], flags: Sequence[str] = ()) -> Path:
    """Compile with $CXX or g++; kept by the contents of the sources and of every launcher file, and by flags."""
    watched = [*sources, *sorted((LAUNCHER / "src").iterdir()), *HEADERS]
    path = find_folder(watched, *flags) / name
    if not path.is_file():
        new = path.with_suffix(f".{os.getpid()}")
        files = [str(source) for source in sources]
        subprocess.run([os.environ.get("CXX", "g++"), *TEST_FLAGS, *files, *flags, "-o", str(new), "-ldl"], check=True)
        new.replace(path)
    return path


def find_folder(files: Sequence[Path], *words: str) -> Path:
    """A folder of temporary files that belongs to these contents and words."""
    digest = hashlib.sha256("\0".join([os.environ.get("CXX", "g++"), *words]).encode())
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    folder = Path(tempfile.gettempdir()) / f"rockiln-launcher-{os.getuid()}" / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder
