"""What publish, promote and smoke say: all of what would happen or did, and one true reason with its option."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matrix_text import CPU_ID
from publish.project import Project

from fakes import FakeEngine
from registry_server import RegistryServer
from rockiln.cli import main
from rockiln.errors import EngineError

Said = pytest.CaptureFixture[str]
ROW = "cpu-py3.11-0.6.2-debian12-runtime"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """Every check passes."""
    engine = FakeEngine(programs={"python": lambda _process: 0})
    monkeypatch.setattr("rockiln.engines.choice.choose_engine", lambda _name, _host: engine)
    monkeypatch.setattr("rockiln.publish.results.find_archs", lambda: ())
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1796000000")
    return engine


def make_key(project: Project, name: str) -> Path:
    prefix = project.path / name
    assert project.run("generate-key", "--output", str(prefix)) == 0
    return prefix


def test_dry_publish_tells_every_step_and_sends_nothing(
    project: Project, server: RegistryServer, engine: FakeEngine, capsys: Said
) -> None:
    del engine
    key = f"{make_key(project, 'cosign')}.key"
    capsys.readouterr()
    assert project.run("publish", CPU_ID, *project.to, "--key", key, "--dry-run") == 0
    text = capsys.readouterr().out
    assert "3 would be uploaded" in text
    assert "no signature, provenance or SBOM would go along" in text  # no lock.json: no build left it
    assert "would be smoked here: cpu; the result would be attached, signed" in text
    assert f"{ROW}: would be new" in text
    assert f"{ROW}-20261130: would be new (never moves)" in text
    assert not [item for item in server.asked if item.method not in {"GET", "HEAD"}]


def test_dry_publish_of_what_is_published_names_what_tags_name(
    project: Project, server: RegistryServer, engine: FakeEngine, capsys: Said
) -> None:
    del engine
    assert project.run("publish", CPU_ID, *project.to, "--unsigned", "--allow-untested") == 0
    sent = len([item for item in server.asked if item.method not in {"GET", "HEAD"}])
    capsys.readouterr()
    words = ("publish", CPU_ID, *project.to, "--unsigned", "--allow-untested", "--dry-run")
    assert project.run(*words) == 0
    text = capsys.readouterr().out
    assert "would not be smoked" in text
    assert f"{ROW}: names {server.repo('rk/jax').tags[ROW][:19]}… today" in text
    assert project.run(*words, "--json") == 0
    (value,) = json.loads(capsys.readouterr().out)
    assert value["would"]["tiers"] == []
    assert len([item for item in server.asked if item.method not in {"GET", "HEAD"}]) == sent


def test_publish_with_a_key_says_that_the_index_is_signed(
    project: Project, engine: FakeEngine, capsys: Said
) -> None:
    del engine
    key = f"{make_key(project, 'cosign')}.key"
    assert project.run("publish", CPU_ID, *project.to, "--key", key) == 0
    assert "the index is signed" in capsys.readouterr().out


@pytest.mark.parametrize("key", ["", "other"])
def test_promotion_without_the_right_key_names_the_option(
    project: Project, engine: FakeEngine, capsys: Said, key: str
) -> None:
    del engine
    right = make_key(project, "right")
    make_key(project, "other")
    reference = project.reference(CPU_ID)
    assert project.run("push", CPU_ID, *project.to) == 0
    assert project.run("smoke", reference, "--attest", "--key", f"{right}.key") == 0
    capsys.readouterr()
    words = ("--key", str(project.path / f"{key}.pub")) if key else ()
    assert project.run("promote", reference, *words) == 21
    said = capsys.readouterr().err
    assert "none counts" in said
    assert "no result is attached" not in said
    hint = said[said.index("hint: ") :]
    assert "give promote the key that signed the results (--key FILE)" in hint
    assert "--attest --key FILE --tier TIER" in hint


def test_unsmoked_digest_has_no_key_to_name(project: Project, engine: FakeEngine, capsys: Said) -> None:
    del engine
    assert project.run("push", CPU_ID, *project.to) == 0
    assert project.run("promote", project.reference(CPU_ID)) == 21
    said = capsys.readouterr().err
    assert "no result is attached to this digest" in said
    assert "give promote the key" not in said


def test_tag_is_not_smoked_and_the_digest_asked_for(project: Project, server: RegistryServer, capsys: Said) -> None:
    assert project.run("smoke", f"{server.host}/rk/jax:{ROW}") == 2
    said = capsys.readouterr().err
    assert "names no digest" in said
    assert "@sha256:" in said
    assert not server.asked


def test_docker_keeps_no_pulled_image(
    project: Project, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeEngine, "name", "docker")
    assert project.run("push", CPU_ID, *project.to) == 0
    assert project.run("smoke", project.reference(CPU_ID)) == 0
    assert not engine.loaded
    assert project.run("smoke", CPU_ID) == 0
    assert engine.loaded


def test_engine_that_does_not_let_go_is_a_warning(
    project: Project, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    def refuse(_engine: FakeEngine, _loaded: object) -> None:
        raise EngineError("a container uses it")

    monkeypatch.setattr(type(engine), "name", "docker")
    monkeypatch.setattr(type(engine), "unload", refuse)
    assert project.run("push", CPU_ID, *project.to) == 0
    folders = ("--project", str(project.path), "--cache", str(project.path / "cache"))
    assert main([*folders, "smoke", project.reference(CPU_ID)]) == 0
    said = capsys.readouterr()
    assert "stays in docker: a container uses it" in said.err
    assert "passed" in said.out
