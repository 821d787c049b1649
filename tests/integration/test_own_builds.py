"""Our own distributions, from two copies of this checkout with two caches: the same bytes, no folder in them."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from own_sources import copy_project
from rockiln.artifact import Artifact
from rockiln.console import Console
from rockiln.own_distributions import find_distributions
from rockiln.resolve.host_index import find_index
from rockiln.resolve.own_wheels import OwnBuilder
from rockiln.store import Store

pytestmark = [pytest.mark.network, pytest.mark.slow]
NAMES = [name for name, own in find_distributions(Path(__file__).parents[2]).items() if not own.making]
"""Packs are compared kernel by kernel in plugins/rockiln-kernels."""


def build_in(project_path: Path, name: str) -> tuple[Artifact, Path]:
    cache_path = project_path.with_name("cache")
    store = Store(cache_path / "store")
    builder = OwnBuilder(
        project_path=project_path, cache_path=cache_path, index_url=find_index(os.environ), store=store,
        environ=os.environ, console=Console(None),
    )  # fmt: skip
    artifact = builder.make_artifact(find_distributions(project_path)[name])
    return artifact, store.path_of(artifact)


@pytest.mark.parametrize("name", NAMES)
def test_two_folders_give_one_wheel(name: str, tmp_path: Path) -> None:
    project_path = copy_project(tmp_path / "one" / "project")
    other_path = tmp_path / "another folder" / "project"
    shutil.copytree(project_path, other_path)  # not of the checkout, in which somebody may be at work
    first, path = build_in(project_path, name)
    second, _ = build_in(other_path, name)
    assert first == second
    with zipfile.ZipFile(path) as wheel:
        for member in wheel.namelist():
            content = wheel.read(member)
            assert str(tmp_path).encode() not in content, member
            assert b"/builds-v0/" not in content, f"{member} names uv's folder of build tools"
