"""What went wrong after an image arrived: its reference is printed all the same, and an absent cache warned of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matrix_text import CPU_ID, GPU_ID
from publish.project import Project

from registry_server import RegistryServer
from rockiln.cli import main

Said = pytest.CaptureFixture[str]
DEAD = "127.0.0.1:1/cache"


def run_aloud(project: Project, *words: str) -> int:
    """With warnings."""
    return main(["--project", str(project.path), "--cache", str(project.path / "cache"), *words])


def test_cache_that_is_away_is_a_warning(project: Project, server: RegistryServer, capsys: Said) -> None:
    assert run_aloud(project, "push", CPU_ID, *project.to, "--cache-to", DEAD) == 0
    said = capsys.readouterr()
    assert project.reference(CPU_ID) in said.out
    assert f"warning: {CPU_ID}: the cache {DEAD} did not get all of it" in said.err
    assert server.repo("rk/jax").manifests
    assert (project.path / "build" / CPU_ID / "push.json").is_file()


def test_record_that_cannot_be_written_hides_no_reference(project: Project, capsys: Said) -> None:
    (project.path / "build" / CPU_ID / "push.json").mkdir()
    assert project.run("push", CPU_ID, *project.to) == 16
    said = capsys.readouterr()
    assert project.reference(CPU_ID) in said.out
    assert "push.json: cannot write" in said.err
    assert project.run("push", CPU_ID, *project.to, "--json") == 16
    assert json.loads(capsys.readouterr().out)[0]["reference"] == project.reference(CPU_ID)


def test_later_target_that_fails_hides_no_earlier_reference(project: Project, capsys: Said) -> None:
    (project.path / "build" / GPU_ID / "built").unlink()
    for words in (("push",), ("publish", "--unsigned")):
        assert project.run(words[0], CPU_ID, GPU_ID, *project.to, *words[1:]) == 2
        said = capsys.readouterr()
        assert project.reference(CPU_ID) in said.out
        assert f"{GPU_ID} is not built" in said.err
        (project.path / "build" / GPU_ID / "built").unlink(missing_ok=True)


@pytest.mark.parametrize("is_folder", [True, False])
def test_attached_that_cannot_be_read_is_not_left_behind_silently(
    project: Project, server: RegistryServer, capsys: Said, is_folder: bool
) -> None:
    path: Path = project.path / "build" / CPU_ID / "attached"
    if is_folder:
        path.mkdir()
    else:
        path.write_text("x")
    assert project.run("push", CPU_ID, *project.to) == 24
    assert f"{path} is there, and cannot be read" in capsys.readouterr().err
    assert not server.repo("rk/jax").manifests


@pytest.mark.parametrize(
    "words", [("push", CPU_ID, "--cache-key", "k"), ("build", CPU_ID, "--cache-key", "k", "--cache-from", "")]
)
def test_cache_key_without_a_cache_is_refused(project: Project, capsys: Said, words: tuple[str, ...]) -> None:
    to = project.to if words[0] == "push" else ()
    assert project.run(*words, *to) == 2
    assert "--cache-key k: no --cache-" in capsys.readouterr().err
