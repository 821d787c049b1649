"""pip and uv, for real, in an environment guarded as in our images: nothing installed on top swaps the framework."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from imaging import make_locked, make_wheel, plan_jax
from packaging.requirements import Requirement

from rockiln.contents import Contents
from rockiln.image_config import GUARDS
from rockiln.image_files import image_entries

OURS = "2.8.0+rocm7.0.2.git1234"
pytest.importorskip("pip")
UV = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def write_wheel(folder: Path, name: str, version: str, *requires: str) -> Path:
    """The smallest wheel that pip and uv install."""
    dist_info = f"{name}-{version}.dist-info"
    metadata = "".join(f"Requires-Dist: {one}\n" for one in requires)
    files = {
        f"{name}.py": f"__version__ = {version!r}\n",
        f"{dist_info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}",
        f"{dist_info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={_hash(text)},{len(text)}\n" for path, text in files.items()]
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in files.items():
            archive.writestr(member, text)
        archive.writestr(f"{dist_info}/RECORD", "".join(rows) + f"{dist_info}/RECORD,,\n")
    return path


def _hash(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A virtual environment with our torch, and an index of wheels that want another one."""

    python: Path
    environ: dict[str, str]

    def pip(self, *words: str) -> subprocess.CompletedProcess[str]:
        options = ("--python", self.python, "--disable-pip-version-check")
        return self._run(sys.executable, "-m", "pip", *options, "install", "--no-index", *words)

    def uv(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        assert UV
        return self._run(UV, *words, cwd=cwd)

    def version_of(self, name: str) -> str:
        return self._run(self.python, "-c", f"import {name}; print({name}.__version__)").stdout.strip()

    def _run(self, *argv: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(arg) for arg in argv], env=self.environ, capture_output=True, text=True, check=False, cwd=cwd
        )


@pytest.fixture
def guarded(tmp_path: Path) -> Environment:
    venv, wheels = tmp_path / "venv", tmp_path / "wheels"
    wheels.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    torch = write_wheel(tmp_path, "torch", OURS)
    write_wheel(wheels, "torch", "2.9.0")
    write_wheel(wheels, "torch", "2.8.0")
    write_wheel(wheels, "hungry", "1.0", "torch>=2.9")
    write_wheel(wheels, "modest", "1.0", "torch>=2.0")
    guards = write_guards(tmp_path)
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_FIND_LINKS": str(wheels), "UV_FIND_LINKS": str(wheels),
        "VIRTUAL_ENV": str(venv), "UV_NO_INDEX": "1", "UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
        "UV_PROJECT_ENVIRONMENT": str(venv), "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1",
    }  # fmt: skip
    found = Environment(python=venv / "bin/python", environ={**environ, **guards})
    assert found.pip(str(torch)).returncode == 0
    assert found.version_of("torch") == OURS
    return found


def write_guards(folder: Path) -> dict[str, str]:
    """The files that image_entries makes, and the variables that lead to them."""
    planned = plan_jax()
    planned = replace(planned, taken=replace(planned.taken, wheels=(Requirement("torch"),)))
    locked, contents = make_locked(planned, make_wheel("torch", OURS)), Contents(folder / "contents")
    entries = {entry.path: entry for entry in image_entries(planned, locked, contents)}
    environ = {}
    for name in GUARDS.keys() - {"UV_PROJECT_ENVIRONMENT"}:
        path = folder / Path(GUARDS[name]).name
        path.write_bytes(contents.read_bytes(entries[GUARDS[name].strip("/")].sha256))
        environ[name] = str(path)
    return environ


def test_pip_refuses_what_wants_another_torch(guarded: Environment) -> None:
    done = guarded.pip("hungry")
    assert done.returncode != 0
    assert f"The user requested (constraint) torch=={OURS}" in done.stdout + done.stderr
    assert guarded.version_of("torch") == OURS


def test_pip_installs_what_is_content_with_ours(guarded: Environment) -> None:
    assert guarded.pip("modest").returncode == 0
    assert guarded.version_of("modest") == "1.0"
    assert guarded.version_of("torch") == OURS


@pytest.mark.parametrize("words", [("--upgrade", "torch"), ("torch==2.9.0",), ("--upgrade", "modest"), ("torch",)])
def test_pip_never_swaps_torch(guarded: Environment, words: tuple[str, ...]) -> None:
    guarded.pip(*words)
    assert guarded.version_of("torch") == OURS


def test_without_the_constraint_pip_does_swap_it(guarded: Environment) -> None:
    """The danger is real: this is what the guard is for."""
    del guarded.environ["PIP_CONSTRAINT"]
    assert guarded.pip("hungry").returncode == 0
    assert guarded.version_of("torch") == "2.9.0"


@pytest.mark.skipif(not UV, reason="uv is not installed")
@pytest.mark.parametrize("package", ["hungry", "modest"])
def test_uv_installs_on_top_of_ours(guarded: Environment, package: str) -> None:
    done = guarded.uv("pip", "install", package)
    assert done.returncode == 0, done.stderr
    assert guarded.version_of(package) == "1.0"
    assert guarded.version_of("torch") == OURS


@pytest.mark.skipif(not UV, reason="uv is not installed")
@pytest.mark.parametrize("words", [("--upgrade", "torch"), ("torch==2.9.0",), ("torch",)])
def test_uv_pip_never_swaps_torch(guarded: Environment, words: tuple[str, ...]) -> None:
    guarded.uv("pip", "install", *words)
    assert guarded.version_of("torch") == OURS


def write_source(folder: Path) -> Path:
    """A package that is built against torch, in the isolated environment that pip and uv make for it."""
    source = folder / "source"
    source.mkdir()
    wheel = write_wheel(folder, "against", "1.0")
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["torch"]\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (source / "backend.py").write_text(
        f"""\
import shutil, torch
def build_wheel(folder, *_):
    shutil.copy({str(wheel)!r}, folder)
    return {wheel.name!r}
"""
    )
    return source


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_nothing_is_built_against_another_torch(guarded: Environment, tool: str, tmp_path: Path) -> None:
    source = str(write_source(tmp_path))
    if tool == "uv" and not UV:
        pytest.skip("uv is not installed")

    def install() -> subprocess.CompletedProcess[str]:
        return guarded.pip(source) if tool == "pip" else guarded.uv("pip", "install", source)

    done = install()
    assert done.returncode != 0
    assert f"torch=={OURS}" in done.stdout + done.stderr
    for name in GUARDS:
        guarded.environ.pop(name, None)
    assert install().returncode == 0, "without the guard it is built against another torch"


def write_project(folder: Path) -> Path:
    project = folder / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[project]\nname = "app"\nversion = "0"\nrequires-python = ">=3.11"\ndependencies = ["hungry"]\n'
    )
    return project


@pytest.mark.skipif(not UV, reason="uv is not installed")
def test_uv_sync_leaves_torch_alone_when_told_as_the_docs_say(guarded: Environment, tmp_path: Path) -> None:
    project = write_project(tmp_path)
    done = guarded.uv("sync", "--inexact", "--no-install-package", "torch", cwd=project)
    assert done.returncode == 0, done.stderr
    assert guarded.version_of("hungry") == "1.0"
    assert guarded.version_of("torch") == OURS


@pytest.mark.skipif(not UV, reason="uv is not installed")
def test_plain_uv_sync_is_not_held_back(guarded: Environment, tmp_path: Path) -> None:
    """No variable of uv's reaches `uv sync`; docs/image.md says so. When this fails, uv has learned it: say that."""
    done = guarded.uv("sync", cwd=write_project(tmp_path))
    assert done.returncode == 0, done.stderr
    assert guarded.version_of("torch") == "2.9.0"
