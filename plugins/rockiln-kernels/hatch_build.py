"""launcher/*.cc → librockiln.so in the wheel, and the wheel's tag from the symbols that it needs. Run by hatchling."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = (
    "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections",
    "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion",
    "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections", "-Wl,--exclude-libs,ALL", "-Wl,--build-id=none",
    "-Wl,-z,defs", "-Wl,-z,now", "-s",
)  # fmt: skip
LIBRARY = "librockiln.so"
PROMISED = "promised.json"


class LauncherHook(BuildHookInterface[Any]):
    """Compiles the launcher: into build/ for an editable install, where launcher.py finds it, else into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library to the wheel, and set the tag."""
        root = Path(self.root)
        self._temporary = Path(tempfile.mkdtemp(prefix="rockiln-launcher-"))
        library = compile_launcher(root / "launcher", self._temporary / LIBRARY)
        if version == "editable":
            placed = root / "build" / LIBRARY  # not among the sources, whose hash is an image's business
            placed.parent.mkdir(exist_ok=True)
            temporary = placed.with_suffix(".new")
            shutil.copyfile(library, temporary)
            temporary.replace(placed)
        else:
            build_data["force_include"][str(library)] = f"rockiln_kernels/{LIBRARY}"
            promised = write_promised(root / "src", self._temporary / PROMISED)
            build_data["force_include"][str(promised)] = f"rockiln_kernels/{PROMISED}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{name_platform(library)}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002  # hatchling's
        """Remove what was compiled aside."""
        shutil.rmtree(self._temporary, ignore_errors=True)


def write_promised(source: Path, output: Path) -> Path:
    """What each arch's pack must hold, {"schema": 1, "archs": {ARCH: ["OP/CELL", ...]}}: who looks at an image's files
    holds its packs against this, and runs no Python of it. docs/packs.md has the format."""
    script = (
        "import json; from rockiln_kernels.wanted_table import read_wishes; "
        "print(json.dumps([(wish.arch, f'{wish.op}/{wish.cell}') for wish in read_wishes() if not wish.gap]))"
    )
    argv = [sys.executable, "-c", script]
    env = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise SystemExit(f"rockiln-kernels: the wanted table cannot be read: {done.stderr}")
    archs: dict[str, list[str]] = {}
    for arch, key in json.loads(done.stdout):
        archs.setdefault(arch, []).append(key)
    output.write_text(json.dumps({"schema": 1, "archs": archs}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return output


def compile_launcher(folder: Path, output: Path, flags: tuple[str, ...] = FLAGS) -> Path:
    """Compile with $CXX, else g++. Raises SystemExit with one message if there is none, or if it fails."""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise SystemExit(f"rockiln-kernels: no {compiler} to compile the launcher: apt-get install g++, or set CXX")
    sources = sorted(str(path) for path in (folder / "src").glob("*.cc"))
    exports = f"-Wl,--version-script={folder / 'exports.map'}"
    command = [compiler, *flags, exports, "-o", str(output), *sources, "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"rockiln-kernels: {' '.join(command)}\n{done.stderr}")
    return output


def name_platform(library: Path) -> str:
    """manylinux_2_X_ARCH of the newest glibc symbol that the library needs, as `readelf` (binutils) lists them."""
    listing = subprocess.run(["readelf", "--version-info", str(library)], capture_output=True, text=True, check=True)
    if other := re.search(r"Name: (GLIBCXX\S*|CXXABI\S*|GCC\S*)", listing.stdout):
        raise SystemExit(f"rockiln-kernels: {LIBRARY} needs {other[1]}; libstdc++ and libgcc must be linked in")
    minors = [int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", listing.stdout)]
    return f"manylinux_2_{max(minors)}_{platform.machine()}"
