"""native/*.cc → librockiln_tensorflow_MAJOR_MINOR.so in the wheel, and the wheel's tag. Run by hatchling.

TensorFlow's C++ ABI holds within a minor, so the library is named by the minor whose headers it was built with.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = (
    "-std=c++17", "-O2", "-fPIC", "-DNDEBUG", "-D_GLIBCXX_USE_CXX11_ABI=1", "-DEIGEN_MAX_ALIGN_BYTES=64",
    "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion",
)  # fmt: skip
"""The fourth to the sixth are TensorFlow's own: tf.sysconfig.get_compile_flags()."""
LINK_FLAGS = (
    "-shared", "-Wl,--build-id=none", "-Wl,-z,defs", "-Wl,-z,now", "-s", "-l:libtensorflow_framework.so.2",
    "-Wl,-rpath,$ORIGIN/../tensorflow",
)  # fmt: skip
"""The library finds TensorFlow's beside it in site-packages, where it is loaded already."""
LIBSTDCXX = ((19, 17), (22, 24), (24, 27), (28, 31), (29, 34), (30, 35), (33, 39))
"""GLIBCXX_3.4.X that systems with glibc 2.Y have: auditwheel's manylinux-policy.json."""
HEADER = "rockiln_dispatch.h"
"""rockiln-kernels' ABI; in a checkout beside this folder, in a source distribution in native/."""


class NativeHook(BuildHookInterface[Any]):
    """Compiles the library: into build/ for an editable install, where native.py finds it, else into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library to the wheel, and set the tag."""
        root, name = Path(self.root), name_library(find_tensorflow())
        self._temporary = Path(tempfile.mkdtemp(prefix="rockiln-tensorflow-"))
        library = compile_library(root, self._temporary / name)
        if version == "editable":
            placed = root / "build" / name
            placed.parent.mkdir(exist_ok=True)
            temporary = placed.with_suffix(".new")
            shutil.copyfile(library, temporary)
            temporary.replace(placed)
        else:
            build_data["force_include"][str(library)] = f"rockiln_tensorflow/{name}"
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
    raise SystemExit(f"rockiln-tensorflow: no {HEADER}: build it in a checkout, beside plugins/rockiln-kernels")


def find_tensorflow() -> Path:
    """TensorFlow's folder, which has its headers and library, without importing it."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or spec.origin is None or not (Path(spec.origin).parent / "include").is_dir():
        raise SystemExit("rockiln-tensorflow: no TensorFlow with C++ headers: pip install tensorflow-cpu==2.19.1")
    return Path(spec.origin).parent


def name_library(tensorflow: Path) -> str:
    """librockiln_tensorflow_2_19.so of TensorFlow 2.19's headers."""
    text = (tensorflow / "include/tensorflow/core/public/version.h").read_text(encoding="utf-8")
    numbers = [re.findall(rf"#define TF_{part}_VERSION (\d+)", text)[0] for part in ("MAJOR", "MINOR")]
    return f"librockiln_tensorflow_{'_'.join(numbers)}.so"


def compile_library(root: Path, output: Path, sources: tuple[Path, ...] = ()) -> Path:
    """Compile native/*.cc, or `sources`, with $CXX, else g++. Raises SystemExit with one message if that fails."""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise SystemExit(f"rockiln-tensorflow: no {compiler} to compile the library: apt-get install g++, or set CXX")
    tensorflow = find_tensorflow()
    include = tensorflow / "include"
    headers = ["-I", str(root / "native"), "-isystem", str(find_headers(root)), "-isystem", str(include)]
    maps = [f"-ffile-prefix-map={folder}={name}" for folder, name in ((include, "tensorflow"), (root, "rockiln"))]
    command = [
        compiler,
        *FLAGS,
        *headers,
        *maps,
    ]  # TensorFlow's macros say __FILE__: a wheel names no folder of its build
    files = sources or tuple(sorted((root / "native").glob("*.cc")))
    objects = [output.with_name(f"{output.stem}-{file.stem}.o") for file in files]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        pairs = zip(files, objects, strict=True)
        list(pool.map(_run, [[*command, "-c", str(file), "-o", str(made)] for file, made in pairs]))
    _run([compiler, *map(str, objects), f"-L{tensorflow}", *LINK_FLAGS, "-o", str(output)])
    for made in objects:
        made.unlink()
    return output


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"rockiln-tensorflow: {' '.join(command)}\n{done.stderr}")


def name_platform(library: Path) -> str:
    """manylinux_2_X_ARCH of the newest glibc that the library needs, or that comes with the libstdc++ that it needs.

    Versions are read by `readelf` (binutils).
    """
    listing = subprocess.run(["readelf", "--version-info", str(library)], capture_output=True, text=True, check=True)
    minors = [int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", listing.stdout)]
    newest = max((int(number) for number in re.findall(r"Name: GLIBCXX_3\.4\.(\d+)", listing.stdout)), default=0)
    later = [minor for number, minor in LIBSTDCXX if number >= newest]
    if not later:
        raise SystemExit(f"rockiln-tensorflow: no manylinux is known to have GLIBCXX_3.4.{newest}")
    return f"manylinux_2_{max(*minors, later[0])}_{platform.machine()}"
