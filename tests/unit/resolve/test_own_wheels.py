"""A wheel of this repository has the same bytes wherever and whenever its tree is built."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from rockiln.console import Console
from rockiln.errors import IntegrityError, ResolveError
from rockiln.matrix import Matrix, Source
from rockiln.own_distributions import OwnDistribution, find_distributions
from rockiln.resolve.build_backend import repack
from rockiln.resolve.host_index import find_index
from rockiln.resolve.own_wheels import OwnBuilder, bring_own_wheels
from rockiln.resolve.wheel_tags import WheelPlatform
from rockiln.store import Store

PLATFORM = WheelPlatform(python=Version("3.12.3"), glibc=Version("2.39"))
PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "rockiln-demo"
version = "0.1"
"""
BACKEND = """\
import time, zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "rockiln_demo-0.1-TAG.whl"
    base = "rockiln_demo-0.1.dist-info"
    with zipfile.ZipFile(wheel_directory + "/" + name, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(base + "/RECORD", "")
        wheel.writestr(zipfile.ZipInfo("rockiln_demo.py", time.localtime()[:6]), open("rockiln_demo.py").read())
        wheel.writestr(base + "/METADATA", "Metadata-Version: 2.1\\nName: rockiln-demo\\nVersion: 0.1\\n")
        wheel.writestr(base + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: TAG\\n")
    return name
"""


def _write_demo(project_path: Path, tag: str = "py3-none-any") -> Path:
    folder = project_path / "plugins" / "demo"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "backend.py").write_text(BACKEND.replace("TAG", tag))
    (folder / "rockiln_demo.py").write_text("ANSWER = 42\n")
    return folder


def _find(project_path: Path) -> OwnDistribution:
    (own,) = find_distributions(project_path).values()
    return own


def _builder(project_path: Path, cache_path: Path) -> OwnBuilder:
    return OwnBuilder(
        project_path=project_path, cache_path=cache_path, index_url=find_index(os.environ),
        store=Store(cache_path / "store"), environ=os.environ, console=Console(None),
    )  # fmt: skip


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    old = os.umask(mask)
    try:
        yield
    finally:
        os.umask(old)


def test_wheel_is_built_into_the_store_and_fills_its_pin(tmp_path: Path) -> None:
    _write_demo(tmp_path / "project")
    builder = _builder(tmp_path / "project", tmp_path / "cache")
    ((pin, artifact),) = builder.build(("Rockiln_Demo",), PLATFORM).items()
    assert pin == Requirement("rockiln-demo==0.1")
    assert (artifact.name, artifact.version, artifact.source) == ("rockiln-demo", "0.1", "own")
    builder.store.check(artifact)
    with zipfile.ZipFile(builder.store.path_of(artifact)) as wheel:
        assert wheel.read("rockiln_demo.py") == b"ANSWER = 42\n"
        assert wheel.namelist()[-1] == "rockiln_demo-0.1.dist-info/RECORD"


def test_folder_umask_and_clock_do_not_show(tmp_path: Path) -> None:
    artifacts = []
    for name, mask in (("one", 0o022), ("two", 0o077)):
        with _umask(mask):
            _write_demo(tmp_path / name)
            builder = _builder(tmp_path / name, tmp_path / f"{name}-cache")
            artifacts.append(builder.make_artifact(_find(tmp_path / name)))
    assert artifacts[0] == artifacts[1]


def test_changed_source_gives_another_wheel(tmp_path: Path) -> None:
    folder = _write_demo(tmp_path)
    builder = _builder(tmp_path, tmp_path / "cache")
    first = builder.make_artifact(_find(tmp_path))
    (folder / "rockiln_demo.py").write_text("ANSWER = 43\n")
    assert builder.make_artifact(_find(tmp_path)).sha256 != first.sha256


def test_same_tree_is_not_built_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_demo(tmp_path)
    first = _builder(tmp_path, tmp_path / "cache").make_artifact(_find(tmp_path))
    monkeypatch.setattr("uv.find_uv_bin", lambda: "/bin/false")
    assert _builder(tmp_path, tmp_path / "cache").make_artifact(_find(tmp_path)) == first


def test_locked_wheel_is_brought_from_the_tree_that_is_here(tmp_path: Path) -> None:
    _write_demo(tmp_path)
    artifact = _builder(tmp_path, tmp_path / "cache").make_artifact(_find(tmp_path))
    elsewhere = _builder(tmp_path, tmp_path / "other-cache")
    elsewhere.bring(artifact)
    assert elsewhere.store.holds(artifact)


def test_locked_wheel_of_another_tree_is_refused(tmp_path: Path) -> None:
    folder = _write_demo(tmp_path)
    artifact = _builder(tmp_path, tmp_path / "cache").make_artifact(_find(tmp_path))
    (folder / "rockiln_demo.py").write_text("ANSWER = 43\n")
    with pytest.raises(IntegrityError, match="is not the one locked"):
        _builder(tmp_path, tmp_path / "cache").bring(artifact)
    shutil.rmtree(folder)
    with pytest.raises(IntegrityError, match="is not the one locked"):
        _builder(tmp_path, tmp_path / "cache").bring(artifact)


def test_missing_own_wheels_are_built_before_a_fetch(tmp_path: Path) -> None:
    _write_demo(tmp_path / "project")
    artifact = _builder(tmp_path / "project", tmp_path / "other").make_artifact(_find(tmp_path / "project"))
    sources = {"wheels": Source(name="wheels", kind="wheel-index")}
    matrix = Matrix(path=tmp_path / "project" / "matrix.toml", targets=(), sources=sources, mirrors={})
    store = Store(tmp_path / "cache" / "store")
    bring_own_wheels((artifact,), matrix, store, tmp_path / "cache", os.environ, Console(None))
    assert store.holds(artifact)


def test_unknown_distribution_is_named_with_those_there_are(tmp_path: Path) -> None:
    _write_demo(tmp_path)
    with pytest.raises(ResolveError, match=r"nothere is no distribution of this repository; .* hold: rockiln-demo"):
        _builder(tmp_path, tmp_path / "cache").build(("nothere",), PLATFORM)


def test_wheel_for_another_python_is_refused(tmp_path: Path) -> None:
    _write_demo(tmp_path, "cp311-cp311-linux_x86_64")
    with pytest.raises(ResolveError, match=r"does not fit Python 3\.12\.3"):
        _builder(tmp_path, tmp_path / "cache").build(("rockiln-demo",), PLATFORM)


def test_build_that_fails_says_why(tmp_path: Path) -> None:
    folder = _write_demo(tmp_path)
    (folder / "backend.py").write_text("def build_wheel(*_, **__):\n    raise SystemExit('no compiler for this')\n")
    with pytest.raises(ResolveError, match=r"its wheel does not build: .*no compiler for this"):
        _builder(tmp_path, tmp_path / "cache").make_artifact(_find(tmp_path))


def test_build_without_a_compiler_says_what_to_install_and_nothing_else(tmp_path: Path) -> None:
    folder = _write_demo(tmp_path)
    text = "def build_wheel(*_, **__):\n    raise SystemExit('rockiln-demo: no g++: apt-get install g++')\n"
    (folder / "backend.py").write_text(text)
    with pytest.raises(ResolveError) as raised:
        _builder(tmp_path, tmp_path / "cache").make_artifact(_find(tmp_path))
    assert raised.value.message == "rockiln-demo: its wheel does not build: no g++: apt-get install g++"


def test_repacked_wheel_keeps_programs_executable(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "raw.whl", "w") as raw:
        for name, mode in (("b", 0o640), ("a", 0o700)):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            raw.writestr(entry, name)
    repack(tmp_path / "raw.whl", tmp_path / "made.whl")
    with zipfile.ZipFile(tmp_path / "made.whl") as made:
        modes = [(entry.filename, entry.external_attr >> 16) for entry in made.infolist()]
    assert modes == [("a", 0o100755), ("b", 0o100644)]


@pytest.mark.network
def test_real_build_backend_gives_the_same_bytes_twice(tmp_path: Path) -> None:
    artifacts = []
    for name in ("one", "two"):
        folder = tmp_path / name / "compat"
        (folder / "src" / "demo").mkdir(parents=True)
        (folder / "src" / "demo" / "__init__.py").write_text("ANSWER = 42\n")
        (folder / "pyproject.toml").write_text(
            '[build-system]\nrequires = ["hatchling==1.27.0"]\nbuild-backend = "hatchling.build"\n\n'
            '[project]\nname = "demo"\nversion = "1"\n'
        )
        artifacts.append(_builder(tmp_path / name, tmp_path / f"{name}-cache").make_artifact(_find(tmp_path / name)))
    assert artifacts[0] == artifacts[1]
