"""A publication killed at twenty moments: no tag names half an image, and the next run is right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pushed_layout import is_whole, make_layout
from real_registry import run_registry
from registry_proxy import Break, RegistryProxy
from rockiln.publish.layout import Layout, read_layout
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference

pytestmark = pytest.mark.registry
MOMENTS = 20
PROGRAM = Path(__file__).parents[1] / "publish_once.py"


@dataclass(kw_only=True)
class Killer:
    """A proxy's judge that ends the client when its request `moment` comes."""

    moment: int = -1
    process: subprocess.Popen[bytes] | None = None
    seen: list[str] = field(default_factory=list)

    def __call__(self, method: str, path: str, number: int) -> Break:
        self.seen.append(f"{method} {path}")
        if number == self.moment and self.process:
            os.kill(self.process.pid, signal.SIGKILL)
        return Break(bytes_per_s=3_000_000)


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture(scope="module")
def layout_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("layout") / "image"
    make_layout(path, layers=3, layer_bytes=150_000)
    return path


@pytest.fixture(scope="module")
def undisturbed(upstream: str, layout_path: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many requests a whole publication takes."""
    killer = Killer()
    with RegistryProxy(upstream, killer) as proxy:
        assert start(f"{proxy.host}/killed/never", layout_path, tmp_path_factory.mktemp("notes")).wait(60) == 0
    return len(killer.seen)


def start(name: str, layout_path: Path, notes_path: Path) -> subprocess.Popen[bytes]:
    path = os.pathsep.join((str(PROGRAM.parent), str(PROGRAM.parents[1] / "src")))
    argv = [sys.executable, str(PROGRAM), name, str(layout_path), str(notes_path)]
    return subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": path})


def list_tags(upstream: str, name: str, layout: Layout) -> tuple[str, ...]:
    """All tags; each has to name an image that is whole."""
    with open_repository(parse_reference(f"{upstream}/{name}"), {}) as repository:
        tags = repository.list_tags()
        for tag in tags:
            index = repository.read_manifest(tag)
            assert index is not None
            assert layout.digest in index.content.decode()
            assert is_whole(repository, layout)
    return tags


@pytest.mark.parametrize("share", range(MOMENTS))
def test_killed_publication_leaves_no_half_image_and_the_next_one_is_right(
    upstream: str, layout_path: Path, undisturbed: int, tmp_path: Path, share: int
) -> None:
    layout, name = read_layout(layout_path, "tiny"), f"killed/at-{share}"
    killer = Killer(moment=share * undisturbed // MOMENTS)
    with RegistryProxy(upstream, killer) as proxy:
        killer.process = start(f"{proxy.host}/{name}", layout_path, tmp_path)
        assert killer.process.wait(60) == -signal.SIGKILL
        tags = list_tags(upstream, name, layout)
        assert tags in {(), ("cpu-tiny1.0-20261130",), ("cpu-tiny1.0", "cpu-tiny1.0-20261130")}
        killer.process = None
        assert start(f"{proxy.host}/{name}", layout_path, tmp_path).wait(60) == 0
    assert list_tags(upstream, name, layout) == ("cpu-tiny1.0", "cpu-tiny1.0-20261130")
