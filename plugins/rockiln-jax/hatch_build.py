"""native/*.cc → librockiln_jax.so in the wheel, and the wheel's tag from its symbols. Run by hatchling."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = (
    "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections",
    "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion",
    "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections", "-Wl,--exclude-libs,ALL",
    "-Wl,--build-id=none", "-Wl,-z,defs", "-Wl,-z,now", "-s",
)  # fmt: skip
LIBRARY = "librockiln_jax.so"
HEADER = "rockiln_dispatch.h"
"""rockiln-kernels' ABI; in a checkout beside this folder, in a source distribution in native/."""


class NativeHook(BuildHookInterface[Any]):
    """Compiles the library: into build/ for an editable install, where native.py finds it, else into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library to the wheel, and set the tag."""
        root = Path(self.root)
        self._temporary = Path(tempfile.mkdtemp(prefix="rockiln-jax-"))
        library = compile_library(root, self._temporary / LIBRARY)
        if version == "editable":
            placed = root / "build" / LIBRARY
            placed.parent.mkdir(exist_ok=True)
            temporary = placed.with_suffix(".new")
            shutil.copyfile(library, temporary)
            temporary.replace(placed)
        else:
            build_data["force_include"][str(library)] = f"rockiln_jax/{LIBRARY}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{name_platform(library)}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002  # hatchling's
        """Remove what was compiled aside."""
        shutil.rmtree(self._temporary, ignore_errors=True)


def find_headers(root: Path) -> Path:
    """The folder of rockiln-kernels' headers. Raises SystemExit if there is none."""
    for folder in (root.parent / "rockiln-kernels" / "launcher", root / "native"):
        if (folder / HEADER).is_file():
            return folder
    raise SystemExit(f"rockiln-jax: no {HEADER}: build it in a checkout, beside plugins/rockiln-kernels")


def find_xla_headers() -> Path:
    """The folder of XLA's FFI headers, which jaxlib's wheel carries: jax.ffi.include_dir(), without importing JAX."""
    spec = importlib.util.find_spec("jaxlib")
    if spec is None or spec.origin is None:
        raise SystemExit("rockiln-jax: no jaxlib, whose wheel has XLA's headers: pip install jaxlib==0.6.0")
    return Path(spec.origin).parent / "include"


def compile_library(root: Path, output: Path, flags: tuple[str, ...] = FLAGS) -> Path:
    """Compile with $CXX, else g++. Raises SystemExit with one message if there is none, or if it fails."""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise SystemExit(f"rockiln-jax: no {compiler} to compile the library: apt-get install g++, or set CXX")
    sources = sorted(str(path) for path in (root / "native").glob("*.cc"))
    xla = find_xla_headers()  # they say __FILE__: without the map, the library would hold the folder of the build
    headers = ["-isystem", str(find_headers(root)), "-isystem", str(xla), f"-ffile-prefix-map={xla}=xla"]
    exports = f"-Wl,--version-script={root / 'native' / 'exports.map'}"
    command = [compiler, *flags, *headers, exports, "-o", str(output), *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"rockiln-jax: {' '.join(command)}\n{done.stderr}")
    return output


def name_platform(library: Path) -> str:
    """manylinux_2_X_ARCH of the newest glibc symbol that the library needs, as `readelf` (binutils) lists them."""
    listing = subprocess.run(["readelf", "--version-info", str(library)], capture_output=True, text=True, check=True)
    minors = [int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", listing.stdout)]
    return f"manylinux_2_{max(minors)}_{platform.machine()}"
