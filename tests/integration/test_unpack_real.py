"""Real packages: wheels as pip installs them, debs as dpkg-deb extracts them, and both with bytes changed."""

from __future__ import annotations

import csv
import hashlib
import os
import random
import stat
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from hostile import files_below
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from rockiln.artifact import Artifact
from rockiln.contents import Contents
from rockiln.errors import UnpackError
from rockiln.manifest import Entry, Unpacked
from rockiln.unpack.deb import unpack_deb
from rockiln.unpack.wheel import VENV, unpack_wheel

PYTHON = Version(f"{sys.version_info.major}.{sys.version_info.minor}")

WHEELS = (
    "numpy",  # compiled, two programs, bytecode inside
    "tensorboard",  # an entry point
    "jupyterlab-widgets",  # .data/data
    "jmespath",  # .data/scripts with "#!python"
    "greenlet",  # .data/headers
    "pip",  # entry points that pip treats in its own way
)
DEBS = ("base-files", "coreutils", "login", "tzdata", "libperl5.36", "hostname")

WRITTEN_BY_INSTALLERS = {"INSTALLER", "REQUESTED", "RECORD", "direct_url.json"}

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.fixture(scope="module")
def wheel_paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Downloaded from wherever this machine's pip downloads from."""
    path = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(path)]
    subprocess.run([*command, *WHEELS], check=True)
    return {parse_wheel_filename(file.name)[0]: file for file in path.iterdir()}


@pytest.fixture(scope="module")
def deb_paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Downloaded from wherever this machine's apt downloads from."""
    path = tmp_path_factory.mktemp("debs")
    path.chmod(0o777)
    found = subprocess.run(["apt-get", "-qq", "download", *DEBS], cwd=path, check=False, capture_output=True, text=True)
    if found.returncode:
        pytest.skip(f"apt-get download: {found.stderr.strip()}")
    return {file.name.partition("_")[0]: file for file in path.iterdir()}


def wheel_artifact(path: Path) -> Artifact:
    name, version, _, _ = parse_wheel_filename(path.name)
    return _artifact(path, "wheel", name, str(version), "any")


def deb_artifact(path: Path) -> Artifact:
    command = ["dpkg-deb", "--show", "--showformat=${Package} ${Version} ${Architecture}", str(path)]
    name, version, architecture = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return _artifact(path, "deb", name, version, architecture)


def _artifact(path: Path, kind: str, name: str, version: str, architecture: str) -> Artifact:
    data = path.read_bytes()
    return Artifact(
        kind="deb" if kind == "deb" else "wheel", name=name, version=version, architecture=architecture, source="real",
        path=path.name, sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data),
    )  # fmt: skip


def unpack_one_wheel(path: Path, contents: Contents) -> Unpacked:
    with path.open("rb") as file:
        return unpack_wheel(wheel_artifact(path), file, contents, PYTHON)


@pytest.mark.parametrize("name", WHEELS)
def test_wheels_are_as_pip_installs_them(tmp_path: Path, wheel_paths: dict[str, Path], name: str) -> None:
    contents = Contents(tmp_path / "contents")
    unpacked = unpack_one_wheel(wheel_paths[name], contents)
    venv_path = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--copies", str(venv_path)], check=True)
    before = set(files_below(venv_path))
    pip = [sys.executable, "-m", "pip", "--python", str(venv_path / "bin/python"), "install", "-q", "--no-deps"]
    subprocess.run([*pip, "--no-index", "--no-compile", str(wheel_paths[name])], check=True)
    theirs = {
        f"{VENV}/{path.relative_to(venv_path)}": path
        for path in files_below(venv_path)
        if path not in before and path.name not in WRITTEN_BY_INSTALLERS and "__pycache__" not in path.parts
    }
    ours = {e.path: e for e in unpacked.entries if PurePosixPath(e.path).name not in WRITTEN_BY_INSTALLERS}
    versioned = {f"{VENV}/bin/pip{PYTHON}"} if name == "pip" else set()
    assert set(theirs) == set(ours) | versioned
    for path, entry in ours.items():
        assert _is_executable(theirs[path]) == bool(entry.mode & 0o111)
        if _hash(theirs[path], venv_path) != entry.sha256:
            assert path.startswith(f"{VENV}/bin/")
            assert _calls(contents.read_bytes(entry.sha256)) == _calls(theirs[path].read_bytes())


def _calls(launcher: bytes) -> list[bytes]:
    """What a launcher imports and calls; how it is written differs between versions of pip."""
    lines = [line.strip() for line in launcher.splitlines()]
    return [line for line in lines if line.startswith((b"from ", b"sys.exit("))]


def _hash(path: Path, venv_path: Path) -> str:
    return hashlib.sha256(path.read_bytes().replace(str(venv_path).encode(), f"/{VENV}".encode())).hexdigest()


def _is_executable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


@pytest.mark.parametrize("name", WHEELS)
def test_record_is_true(tmp_path: Path, wheel_paths: dict[str, Path], name: str) -> None:
    contents = Contents(tmp_path / "contents")
    unpacked = unpack_one_wheel(wheel_paths[name], contents)
    assert unpacked.wheel is not None
    site = f"{VENV}/lib/python{PYTHON}/site-packages"
    record = {e.path: e for e in unpacked.entries}[f"{site}/{unpacked.wheel.dist_info}/RECORD"]
    rows = list(csv.reader(contents.read_bytes(record.sha256).decode().splitlines()))
    assert rows == sorted(rows)
    listed = {os.path.normpath(f"{site}/{path}"): size for path, _, size in rows}
    assert listed == {e.path: "" if e.path == record.path else str(e.size_bytes) for e in unpacked.entries}


@pytest.mark.parametrize("name", DEBS)
def test_debs_are_as_dpkg_deb_extracts_them(tmp_path: Path, deb_paths: dict[str, Path], name: str) -> None:
    with deb_paths[name].open("rb") as file:
        unpacked = unpack_deb(deb_artifact(deb_paths[name]), file, Contents(tmp_path / "contents"))
    root_path = tmp_path / "root"
    subprocess.run(["dpkg-deb", "-x", str(deb_paths[name]), str(root_path)], check=True)
    for alias in ("bin", "sbin", "lib", "lib64"):
        _merge(root_path / alias, root_path / "usr" / alias)
    theirs = {path.relative_to(root_path).as_posix(): path for path in root_path.rglob("*")}
    ours = {entry.path: entry for entry in unpacked.entries}
    assert set(theirs) - {"usr"} == set(ours) - {"usr"}
    for path, entry in ours.items():
        _assert_same(theirs[path], entry, ours)


def _merge(alias: Path, folder: Path) -> None:
    if alias.is_dir() and not alias.is_symlink():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", "--preserve=all", f"{alias}/.", str(folder)], check=True)
        subprocess.run(["rm", "-rf", str(alias)], check=True)


def _assert_same(path: Path, entry: Entry, entries: dict[str, Entry]) -> None:
    status = path.lstat()
    kinds = {"directory": stat.S_ISDIR, "symlink": stat.S_ISLNK, "file": stat.S_ISREG, "hardlink": stat.S_ISREG}
    assert kinds[entry.kind](status.st_mode), entry
    if entry.kind == "symlink":
        assert str(path.readlink()) == entry.link
        return
    assert stat.S_IMODE(status.st_mode) == entry.mode, entry
    if os.geteuid() == 0:
        assert (status.st_uid, status.st_gid) == (entry.uid, entry.gid), entry
    if entry.kind != "directory":
        content = entries[entry.link] if entry.kind == "hardlink" else entry
        assert hashlib.sha256(path.read_bytes()).hexdigest() == content.sha256


def test_paths_are_listed_as_dpkg_lists_them(tmp_path: Path, deb_paths: dict[str, Path]) -> None:
    """Against the file lists of this machine, where it has the same version installed."""
    compared = 0
    for path in deb_paths.values():
        artifact = deb_artifact(path)
        list_path = Path(f"/var/lib/dpkg/info/{artifact.name}.list")
        query = ["dpkg-query", "--show", "--showformat=${Version}", artifact.name]
        version = subprocess.run(query, check=False, capture_output=True, text=True).stdout
        if version == artifact.version and list_path.exists():
            with path.open("rb") as file:
                facts = unpack_deb(artifact, file, Contents(tmp_path / "contents")).deb
            assert facts is not None
            assert list_path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")[:-1] == list(
                facts.listed_paths
            )
            compared += 1
    if not compared:
        pytest.skip("none of these packages is installed here in the version that apt offers")


@pytest.mark.parametrize("kind", ["deb", "wheel"])
def test_changed_real_packages_are_refused_or_read(
    tmp_path: Path, deb_paths: dict[str, Path], wheel_paths: dict[str, Path], kind: str
) -> None:
    path = deb_paths["hostname"] if kind == "deb" else wheel_paths["jmespath"]
    artifact = deb_artifact(path) if kind == "deb" else wheel_artifact(path)
    contents, changed_path, refused = Contents(tmp_path / "contents"), tmp_path / "changed", 0
    dice, data = random.Random(3), path.read_bytes()  # noqa: S311 - not a secret
    for _ in range(1500):
        changed = bytearray(data)
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(changed))
            changed[at : at + dice.choice((0, 1, 4, 60))] = dice.randbytes(dice.choice((0, 1, 4, 60)))
        changed_path.write_bytes(changed)
        try:
            with changed_path.open("rb") as file:
                if kind == "deb":
                    unpack_deb(artifact, file, contents)
                else:
                    unpack_wheel(artifact, file, contents, PYTHON)
        except UnpackError:
            refused += 1
    assert refused > 1000
    assert {found.parent.parent for found in files_below(tmp_path)} <= {tmp_path / "contents", tmp_path.parent}
