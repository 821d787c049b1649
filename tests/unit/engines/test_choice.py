"""Which engine is taken, and what is said when there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from rockiln.console import Console
from rockiln.engines import choice
from rockiln.engines.choice import choose_engine
from rockiln.engines.docker import DockerEngine
from rockiln.engines.embedded import EmbeddedEngine
from rockiln.errors import UnavailableError, UsageError
from rockiln.folders import Folders


@dataclass(frozen=True, kw_only=True)
class SomeHost:
    folders: Folders
    environ: Mapping[str, str]
    console: Console = Console(None)  # noqa: RUF009 - says nothing, holds nothing
    jobs: int = 3


@pytest.fixture
def host(tmp_path: Path) -> SomeHost:
    folders = Folders(project_path=tmp_path, cache_path=tmp_path / "cache", build_path=tmp_path / "build")
    return SomeHost(folders=folders, environ={"DOCKER_HOST": f"unix://{tmp_path}/no.sock"})


@pytest.mark.userns
def test_embedded_is_taken_where_no_docker_answers(host: SomeHost) -> None:
    engine = choose_engine("auto", host)
    assert engine == EmbeddedEngine(trees_path=host.folders.cache_path / "trees", jobs=3, console=host.console)


def test_docker_insisted_on_says_why_it_cannot(host: SomeHost) -> None:
    with pytest.raises(UnavailableError, match=r"docker: no Docker Engine answers \(unix://.*no\.sock"):
        choose_engine("docker", host)


def test_no_engine_at_all_names_both_obstacles(host: SomeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, kw_only=True)
    class ForbiddenEngine(EmbeddedEngine):
        def obstacle(self) -> str:
            return "user namespaces are off"

    monkeypatch.setattr(choice, "EmbeddedEngine", ForbiddenEngine)
    with pytest.raises(UnavailableError) as caught:
        choose_engine("auto", host)
    lines = caught.value.message.splitlines()
    assert lines[0] == "no engine can run an image here:"
    assert lines[1].startswith("  docker: no Docker Engine answers")
    assert lines[2] == "  embedded: user namespaces are off"


def test_unknown_engine_is_a_usage_error(host: SomeHost) -> None:
    with pytest.raises(UsageError, match="no engine 'qemu'"):
        choose_engine("qemu", host)


@pytest.mark.docker
def test_docker_is_taken_where_it_answers(host: SomeHost) -> None:
    engine = choose_engine("auto", SomeHost(folders=host.folders, environ={}))
    assert isinstance(engine, DockerEngine)
