"""A real CPython 3.12 of this machine → debs under noble's names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from deb_file import BuiltDeb, Deb, build_deb
from fat_binaries import MissingToolError

SERIES = "3.12"
VERSION = "3.12.3-1"
LEFT_OUT = (
    "__pycache__", "config-*", "ensurepip", "idlelib", "lib2to3", "site-packages", "dist-packages", "test", "tests",
    "tkinter", "turtledemo", "_tkinter*", "_test*", "nis.*",
)  # fmt: skip
LIBRARY_DEPENDENCIES = (
    "libbz2-1.0", "libc6", "libexpat1", "libffi8", "liblzma5", "libncursesw6", "libreadline8t64", "libsqlite3-0",
    "libssl3t64", "libtinfo6", "libuuid1", "media-types", "netbase", "tzdata", "zlib1g",
)  # fmt: skip
DEPENDENCIES = {
    "python3": ("python3-minimal", "python3.12", "libpython3-stdlib"),
    "python3-minimal": ("python3.12-minimal",),
    "libpython3-stdlib": ("libpython3.12-stdlib",),
    "python3.12": ("python3.12-minimal", "libpython3.12-stdlib"),
    "python3.12-minimal": ("libpython3.12-minimal", "libc6", "libexpat1", "zlib1g"),
    "libpython3.12-minimal": ("libc6",),
    "libpython3.12-stdlib": ("libpython3.12-minimal", *LIBRARY_DEPENDENCIES),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A CPython found on this machine."""

    executable_path: Path
    prefix_path: Path

    @property
    def library_path(self) -> Path:
        """Its standard library."""
        return self.prefix_path / f"lib/python{SERIES}"


def find_interpreter() -> Interpreter:
    """A CPython 3.12 that starts: on PATH, known to uv, or installed by pyenv."""
    for candidate in _list_candidates():
        script = "import os, sys; print(sys.base_prefix); print(os.path.realpath(sys._base_executable))"
        answer = subprocess.run([candidate, "-I", "-c", script], capture_output=True, text=True, check=False)
        lines = answer.stdout.split()
        if answer.returncode == 0 and len(lines) == 2:
            return Interpreter(prefix_path=Path(lines[0]), executable_path=Path(lines[1]))
    hint = f"put python{SERIES} on PATH, or: uv python install {SERIES}"
    raise MissingToolError(f"no CPython {SERIES} is here to pack for the mirror: {hint}")


def build_python_debs(interpreter: Interpreter, pool_path: Path) -> list[BuiltDeb]:
    """The packages that a noble image installs for python3."""
    with TemporaryDirectory() as folder:
        tree_path = Path(folder) / "tree"
        return [_build_package(name, interpreter, tree_path, pool_path) for name in DEPENDENCIES]


def _list_candidates() -> Iterator[str]:
    if found := shutil.which(f"python{SERIES}"):
        yield found
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        command = [str(uv), "python", "find", SERIES, "--no-python-downloads", "--no-project", "--system"]
        yield from subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    roots = (os.environ.get("PYENV_ROOT", ""), str(Path.home() / ".pyenv"))
    for root in filter(None, roots):
        yield from map(str, sorted(Path(root).glob(f"versions/{SERIES}.*/bin/python{SERIES}")))


def _build_package(name: str, interpreter: Interpreter, tree_path: Path, pool_path: Path) -> BuiltDeb:
    folder = tree_path / "usr/share/doc" / name
    folder.mkdir(parents=True)
    (folder / "copyright").write_text("CPython, under the PSF licence; packed for rockiln's tests.\n")
    if name == "python3.12-minimal":
        _put_program(interpreter, tree_path / "usr/bin/python3.12")
    elif name == "python3-minimal":
        (tree_path / "usr/bin").mkdir()
        (tree_path / "usr/bin/python3").symlink_to("python3.12")
    elif name == "libpython3.12-minimal":
        _put_shared_libraries(interpreter, tree_path / "usr/lib/x86_64-linux-gnu")
    elif name == "libpython3.12-stdlib":
        _put_library(interpreter, tree_path / "usr/lib/python3.12")
    fields = {
        "Multi-Arch": "same" if name.startswith("libpython3.12") else "allowed",
        "Priority": "important",
        "Section": "python",
        "Depends": ", ".join(DEPENDENCIES[name]),
        "Maintainer": "rockiln tests <mirror@invalid>",
        "Description": f"{name} for tests: a CPython {SERIES} of the machine that made the mirror",
    }
    return build_deb(Deb(name=name, version=VERSION, fields=fields, compression="zstd"), tree_path, pool_path)


def _put_program(interpreter: Interpreter, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(_move_prefix(interpreter.executable_path.read_bytes(), interpreter))
    path.chmod(0o755)


def _put_shared_libraries(interpreter: Interpreter, folder: Path) -> None:
    """libpython3.12.so.1.0 where the interpreter is linked with one; noble's is not."""
    folder.mkdir(parents=True)
    for path in sorted((interpreter.prefix_path / "lib").glob(f"libpython{SERIES}.so.1.0")):
        target = folder / path.name
        target.write_bytes(_move_prefix(path.read_bytes(), interpreter))
        target.chmod(0o755)
        if strip := shutil.which("strip"):
            subprocess.run([strip, "--strip-unneeded", "--preserve-dates", str(target)], check=True)


def _put_library(interpreter: Interpreter, folder: Path) -> None:
    shutil.copytree(interpreter.library_path, folder, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    for path in folder.glob("_sysconfigdata_*.py"):
        path.write_text(path.read_text().replace(str(interpreter.prefix_path), "/usr"))
    for path in folder.glob("lib-dynload/*.so"):
        path.write_bytes(_move_prefix(path.read_bytes(), interpreter))


def _move_prefix(content: bytes, interpreter: Interpreter) -> bytes:
    """Paths below the interpreter's prefix (RUNPATH above all) lead below /usr instead; slashes keep the length.

    The bare prefix stays: linkers share the ends of strings, and its end is the version that sys.version prints.
    """
    prefix = str(interpreter.prefix_path).encode()
    is_longer = len(prefix) > len(b"/usr")
    return content.replace(prefix + b"/", b"/usr".ljust(len(prefix) + 1, b"/")) if is_longer else content
