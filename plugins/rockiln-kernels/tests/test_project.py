"""The project around a pack: a distribution that a wheel is built of, with the pack as data in its package."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from rockiln_kernels import __version__
from rockiln_kernels.pack.build import Pack, write_pack
from rockiln_kernels.pack.manifest import FILE_NAME, Manifest
from rockiln_kernels.pack.output import OutputError
from rockiln_kernels.pack.project import (
    WheelTooLargeError,
    check_wheel,
    measure_wheel,
    name_package,
    write_project,
)

MANIFEST = Manifest(
    schema=1, arch="gfx942", wave_lanes=64, triton="3.4.0", lld="22.1.8", kernels={}, variants=(), absent=()
)


def _write(tmp_path: Path) -> Path:
    write_pack(Pack(manifest=MANIFEST, code={}), tmp_path / "pack")
    write_project(MANIFEST, tmp_path / "pack", tmp_path / "project")
    return tmp_path / "project"


def test_the_project_names_its_arch_and_the_package_it_belongs_to(tmp_path: Path) -> None:
    project = tomllib.loads((_write(tmp_path) / "pyproject.toml").read_text())
    assert project["project"]["name"] == "rockiln-kernels-gfx942"
    assert project["project"]["dependencies"] == [f"rockiln-kernels=={__version__}"]
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [f"src/{name_package('gfx942')}"]


def test_the_pack_lies_in_the_package(tmp_path: Path) -> None:
    package = _write(tmp_path) / "src" / "rockiln_kernels_gfx942"
    assert (package / "pack" / FILE_NAME).read_bytes() == (tmp_path / "pack" / FILE_NAME).read_bytes()
    assert sorted(path.name for path in package.iterdir()) == ["__init__.py", "pack"]


def test_a_former_project_is_replaced_as_a_whole(tmp_path: Path) -> None:
    project = _write(tmp_path)
    init = project / "src" / "rockiln_kernels_gfx942" / "__init__.py"
    init.write_text("old = 1")
    (init.parent / "__pycache__").mkdir()
    write_project(MANIFEST, tmp_path / "pack", project)
    assert "old" not in init.read_text()
    assert not (init.parent / "__pycache__").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pack", "project"]


@pytest.mark.parametrize("place", ["notes", "src/notes", "src/rockiln_kernels_gfx942/notes.py"])
def test_a_project_with_a_users_file_is_left_alone(tmp_path: Path, place: str) -> None:
    project = _write(tmp_path)
    (project / place).write_text("mine")
    with pytest.raises(OutputError, match=r"project is not replaced: notes\S* in \S+ is no file of the project"):
        write_project(MANIFEST, tmp_path / "pack", project)
    assert (project / place).read_text() == "mine"


def test_a_users_own_project_is_left_alone(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    with pytest.raises(OutputError, match="it is no project of a pack"):
        _write(tmp_path)
    assert [path.name for path in project.iterdir()] == ["pyproject.toml"]


def test_a_wheel_above_the_limit_is_refused_and_the_former_project_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = _write(tmp_path)
    size = measure_wheel(project / "src")
    monkeypatch.setattr("rockiln_kernels.pack.project.LIMIT_BYTES", size)
    write_project(MANIFEST, tmp_path / "pack", project)
    (tmp_path / "pack" / "a.hsaco").write_bytes(os.urandom(1000))
    with pytest.raises(WheelTooLargeError, match=r"the wheel of the pack for gfx942 would weigh 0\.0 MB"):
        write_project(MANIFEST, tmp_path / "pack", project)
    assert not list(project.rglob("*.hsaco"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pack", "project"]


def test_the_limit_is_twenty_megabytes() -> None:
    check_wheel("gfx942", 20_000_000)
    with pytest.raises(WheelTooLargeError, match=r"would weigh 20\.1 MB, 20 MB is the most"):
        check_wheel("gfx942", 20_100_000)


def test_a_wheel_is_measured_as_it_is_built(tmp_path: Path) -> None:
    project = _write(tmp_path)
    for name, code in (("a.hsaco", os.urandom(100_000)), ("b.hsaco", os.urandom(50_000).hex().encode())):
        (project / "src" / "rockiln_kernels_gfx942" / "pack" / name).write_bytes(code)
    [name] = WheelBuilder(str(project)).build(directory=str(tmp_path / "dist"), versions=["standard"])
    built = Path(name).stat().st_size
    assert abs(measure_wheel(project / "src") - built) < 3000 < built
