"""The project around a pack: a distribution that a wheel is built of, with the pack as data in its package."""

from __future__ import annotations

import tomllib
from pathlib import Path

from rockiln_kernels import __version__
from rockiln_kernels.pack.manifest import FILE_NAME, Manifest
from rockiln_kernels.pack.project import name_package, write_project

MANIFEST = Manifest(
    schema=1, arch="gfx942", wave_lanes=64, triton="3.4.0", lld="22.1.8", kernels={}, variants=(), absent=()
)


def _write(tmp_path: Path) -> Path:
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / FILE_NAME).write_text("{}")
    (pack / "a.hsaco").write_bytes(b"code")
    write_project(MANIFEST, pack, tmp_path / "project")
    return tmp_path / "project"


def test_the_project_names_its_arch_and_the_package_it_belongs_to(tmp_path: Path) -> None:
    project = tomllib.loads((_write(tmp_path) / "pyproject.toml").read_text())
    assert project["project"]["name"] == "rockiln-kernels-gfx942"
    assert project["project"]["dependencies"] == [f"rockiln-kernels=={__version__}"]
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [f"src/{name_package('gfx942')}"]


def test_the_pack_lies_in_the_package(tmp_path: Path) -> None:
    package = _write(tmp_path) / "src" / "rockiln_kernels_gfx942"
    assert (package / "pack" / "a.hsaco").read_bytes() == b"code"
    assert sorted(path.name for path in package.iterdir()) == ["__init__.py", "pack"]


def test_a_former_project_is_replaced_as_a_whole(tmp_path: Path) -> None:
    project = _write(tmp_path)
    (project / "old").touch()
    write_project(MANIFEST, tmp_path / "pack", project)
    assert not (project / "old").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pack", "project"]
