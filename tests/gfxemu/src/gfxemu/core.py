"""core/*.cpp → a shared library, compiled once a machine, loaded by ctypes; the core's op table as Python sees it."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gfxemu.faults import GfxemuError

SOURCES = Path(__file__).parent / "core"
# No contraction, no fast math: float results are the program's, not the compiler's.
FLAGS = (
    "-std=c++17",
    "-O2",
    "-ftree-vectorize",
    "-march=native",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-fast-math",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-maybe-uninitialized",
)  # lane buffers are filled as far as there are lanes


class CoreBuildError(GfxemuError):
    """No C++ compiler, or it rejected the core."""


def find_compiler() -> str:
    """The host's C++ compiler: $CXX, c++, g++ or clang++."""
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        if name and (path := shutil.which(name)):
            return path
    raise CoreBuildError("no C++ compiler: install g++ (Debian: apt-get install g++) or set CXX")


def flags() -> tuple[str, ...]:
    """Compiler flags; GFXEMU_SANITIZE=address,undefined adds sanitizers (CI)."""
    sanitize = os.environ.get("GFXEMU_SANITIZE", "")
    return (*FLAGS, "-g", f"-fsanitize={sanitize}", "-fno-sanitize-recover=all") if sanitize else FLAGS


def read_headers() -> bytes:
    """All headers: every source depends on them."""
    return b"".join(path.name.encode() + path.read_bytes() for path in sorted(SOURCES.glob("*.h")))


def describe_host(compiler: str, options: tuple[str, ...]) -> bytes:
    """What -march=native and the compiler's version make of the same source."""
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text("utf-8").splitlines() if cpu.exists() else []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return "\0".join(options).encode() + version + features.encode()


def compile_one(compiler: str, options: tuple[str, ...], source: Path, host: bytes) -> Path:
    """One source to an object file in the cache, named by all it depends on."""
    key = hashlib.sha256(host + read_headers() + source.read_bytes()).hexdigest()[:24]
    output = cache_folder() / f"{source.stem}-{key}.o"
    if not output.exists():
        partial = output.with_suffix(f".{os.getpid()}.part")
        done = subprocess.run(
            [compiler, *options, "-c", str(source), "-o", str(partial)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise CoreBuildError(f"{source.name} does not compile:\n{done.stderr[-2000:]}")
        partial.replace(output)
    return output


def build_core(compiler: str, options: tuple[str, ...]) -> Path:
    """Compile what is not in the cache, link, and put the library in place in one step."""
    host, folder = describe_host(compiler, options), cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted(SOURCES.glob("*.cpp"))
    digest = hashlib.sha256(
        host + read_headers() + b"".join(path.name.encode() + path.read_bytes() for path in sources)
    )
    output = folder / f"core-{digest.hexdigest()[:24]}.so"
    if output.exists():
        return output
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        objects = list(pool.map(lambda source: compile_one(compiler, options, source, host), sources))
    partial = output.with_suffix(f".{os.getpid()}.part")
    link = [compiler, *options, "-shared", *map(str, objects), "-o", str(partial)]
    done = subprocess.run(link, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CoreBuildError(f"the core does not link:\n{done.stderr[-2000:]}")
    partial.replace(output)
    return output


def cache_folder() -> Path:
    """$GFXEMU_CACHE, else gfxemu under the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("GFXEMU_CACHE") or Path(base) / "gfxemu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """The loaded library. `ops`: name → (number, unit, types)."""

    library: ctypes.CDLL
    ops: dict[str, tuple[int, int, str]]

    def types(self, name: str) -> str | None:
        """Type letters of an op (result first), or None: no such op."""
        found = self.ops.get(name)
        return found[2] if found else None


@functools.cache
def load_core() -> Core:
    """The core, compiled first if this machine has not done so (half a minute)."""
    library = ctypes.CDLL(str(build_core(find_compiler(), flags())))
    library.gfxemu_op_name.restype = library.gfxemu_op_types.restype = ctypes.c_char_p
    ops = {}
    for number in range(library.gfxemu_op_count()):
        name = library.gfxemu_op_name(number).decode()
        ops[name] = (number, library.gfxemu_op_unit(number), library.gfxemu_op_types(number).decode())
    return Core(library=library, ops=ops)
