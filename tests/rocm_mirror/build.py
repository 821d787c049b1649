"""A folder → a ROCm-shaped mirror in it: `python tests/rocm_mirror/build.py FOLDER`. What is there already stays."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import sys
from pathlib import Path

from apt_archive import SigningKey, Suite, write_archive
from fat_binaries import Compiler, MissingToolError, find_compiler
from python_debs import Interpreter, build_python_debs, find_interpreter
from rocm_debs import build_rocm_debs
from ubuntu_debs import build_ubuntu_debs, choose_packages, read_table
from wheel_files import write_wheels

NOTHING_FITS = 3
"""Exit code: this machine lacks a tool or a package; stderr says which."""

ROCM_SUITES = (Suite(name="noble", origin="ROCm", components=("main",)),)
UBUNTU_SUITES = tuple(
    Suite(name=name, origin="Ubuntu", components=("main", "universe"), version="24.04")
    for name in ("noble", "noble-updates", "noble-security")
)


def main() -> int:
    """Build, or find that it is built already."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    mirror_path: Path = parser.parse_args().folder
    os.umask(0o022)
    try:
        compiler, interpreter = find_compiler(), find_interpreter()
        key = _hash_builder(compiler, interpreter)
        mirror_path.parent.mkdir(parents=True, exist_ok=True)
        with mirror_path.with_name(f"{mirror_path.name}.lock").open("w") as lock_file:
            fcntl.flock(lock_file, fcntl.LOCK_EX)
            stamp_path = mirror_path / "complete"
            if not (stamp_path.is_file() and stamp_path.read_text() == key):
                _build_mirror(compiler, interpreter, mirror_path)
                stamp_path.write_text(key)
    except MissingToolError as missing:
        print(f"rocm_mirror: {missing}", file=sys.stderr)
        return NOTHING_FITS
    return 0


def _build_mirror(compiler: Compiler, interpreter: Interpreter, mirror_path: Path) -> None:
    shutil.rmtree(mirror_path, ignore_errors=True)
    mirror_path.mkdir(parents=True)
    key = SigningKey(mirror_path / "key")
    try:
        keyrings_path = mirror_path / "keyrings"
        for keyring in ("rocm.gpg", "ubuntu-archive-keyring.gpg"):
            key.export(keyrings_path / keyring)
        rocm_path, ubuntu_path = mirror_path / "rocm/apt/7.0.2", mirror_path / "ubuntu"
        rocm_debs = build_rocm_debs(compiler, rocm_path / "pool/main")
        write_archive(rocm_path, ROCM_SUITES, rocm_debs, key)
        pool_path = ubuntu_path / "pool/main"
        ubuntu_debs = build_ubuntu_debs(pool_path, keyrings_path / "ubuntu-archive-keyring.gpg")
        ubuntu_debs += build_python_debs(interpreter, pool_path)
        write_archive(ubuntu_path, UBUNTU_SUITES, ubuntu_debs, key)
        write_wheels(compiler, mirror_path)
    finally:
        key.close()


def _hash_builder(compiler: Compiler, interpreter: Interpreter) -> str:
    """What decides the contents: the builder's files, its tools, and the packages that it packs again."""
    versions = [(package.name, package.fields["Version"]) for package in choose_packages(read_table())]
    digest = hashlib.sha256(f"{compiler} {interpreter} {versions}".encode())
    folder = Path(__file__).parent
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    for path in files:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
