"""build judges what an image weighs: past the budget it exits with 17, within it the sizes may be recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from built_folder import add_files, small_tree, write_built
from rockiln.cli import main
from rockiln.contents import Contents
from rockiln.image import Image
from rockiln.jsonable import write_value
from rockiln.verbs import build

ROOT = Path(__file__).parents[2]
JAX = "jax-0.6.2-cpu-py3.11-debian-12"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which a build only leaves its values: 3 MB unpacked, half of that compressed."""
    shutil.copy(ROOT / "matrix.toml", tmp_path)
    shutil.copytree(ROOT / "images", tmp_path / "images")
    shutil.rmtree(tmp_path / "images" / "jax" / "sizes")
    folder = tmp_path / "build" / JAX
    image = Image(
        target_id=JAX, layout_path=folder / "image", digest="sha256:0", config_digest="sha256:1", layers=(),
        reference="rockiln/jax:1",
    )  # fmt: skip

    def leave_values(*_: object) -> Image:
        contents = Contents(tmp_path / "contents")
        write_built(folder, JAX, add_files(small_tree(contents), "wheel:jax", {"opt/a.py": 3_000_000}), contents)
        write_value({"subject": JAX, "archs": [], "findings": [], "counts": {}}, folder / "audit.json")
        return image

    monkeypatch.setattr(build, "have_image", leave_values)
    return tmp_path


def set_ceiling(project: Path, megabytes: int) -> None:
    recipe = project / "images" / "jax" / "image.toml"
    recipe.write_text(recipe.read_text().replace("unpacked-mb = 555", f"unpacked-mb = {megabytes}"))


def ask(project: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["--project", str(project), "--cache", str(project / "cache"), "build", JAX, *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_image_within_its_budget_can_be_recorded(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = ask(project, capsys, "--record-sizes")
    assert code == 0, said
    record = json.loads((project / "images" / "jax" / "sizes" / f"{JAX}.json").read_text())
    assert record["packages"]["wheel:jax"] == ["1.0", 3_012_000, 3]


def test_image_past_its_budget_is_finished_and_fails(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    set_ceiling(project, 2)
    code, said, error = ask(project, capsys, "--record-sizes")
    assert code == 17
    assert said.startswith(JAX)
    assert "unpacked: 3.0 MB, 2.0 MB allowed, 1.0 MB too much" in error
    assert "largest packages:" in error
    assert not (project / "images" / "jax" / "sizes").exists()


def test_growth_is_told_since_the_record(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(project, capsys, "--record-sizes")
    path = project / "images" / "jax" / "sizes" / f"{JAX}.json"
    path.write_text(path.read_text().replace("3012000", "1012000"))
    set_ceiling(project, 2)
    _, _, error = ask(project, capsys)
    assert f"largest growths since images/jax/sizes/{JAX}.json:" in error
    assert "   +2.0 MB  wheel:jax 1.0" in error


def test_growth_is_told_since_the_last_build_where_nothing_was_recorded(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(project, capsys)
    path = project / "build" / JAX / "sizes.json"
    path.write_text(path.read_text().replace('"size_bytes": 3012000', '"size_bytes": 12000'))
    set_ceiling(project, 2)
    _, _, error = ask(project, capsys)
    assert "largest growths since the last build:" in error


def test_image_to_compare_with_must_be_there(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = ask(project, capsys, "--since", "missing/image")
    assert code == 2
    assert "there is no missing/image" in error
