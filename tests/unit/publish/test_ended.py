"""push, publish and load take what a build finished, its audit included, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from leftovers import flip_byte
from matrix_text import CPU_ID
from publish.project import Project

from registry_server import RegistryServer

FILES = ("built", "audit.json", "image.json")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("spoil", [Path.unlink, flip_byte], ids=["gone", "changed"])
@pytest.mark.parametrize("verb", ["push", "publish", "load"])
def test_what_no_build_finished_is_not_built(
    project: Project, server: RegistryServer, capsys: pytest.CaptureFixture[str], name: str,
    spoil: Callable[[Path], None], verb: str,
) -> None:  # fmt: skip
    spoil(project.path / "build" / CPU_ID / name)
    where = () if verb == "load" else (*project.to, *(("--unsigned",) if verb == "publish" else ()))
    assert project.run(verb, CPU_ID, *where) == 2
    said = capsys.readouterr().err
    assert f"{CPU_ID} is not built: " in said
    assert f"build/{CPU_ID}/{name} is " in said
    assert f"rockiln build {CPU_ID}" in said
    assert server.asked == []


def test_changed_name_in_the_index_is_noticed(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    path = project.path / "build" / CPU_ID / "image/index.json"
    path.chmod(0o644)
    path.write_text(path.read_text().replace("rockiln/jax:test", "rockiln/jax:tess"))
    assert project.run("push", CPU_ID, *project.to) == 2
    assert "image/index.json is missing, damaged" in capsys.readouterr().err
