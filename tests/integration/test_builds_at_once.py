"""Builds that run at the same time, over one cache: each gives what it gives alone."""

from __future__ import annotations

import random
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from remains import list_damaged, list_files, list_unfinished
from small_project import DEVEL, SMALL, SmallProject, read_digest

pytestmark = [pytest.mark.network, pytest.mark.userns, pytest.mark.slow]


def finish(process: subprocess.Popen[str]) -> str:
    """The digest of a build that must succeed."""
    with process:
        stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    return read_digest(stdout)


def test_one_target_twice(
    small_project: SmallProject, undisturbed: SmallProject, digest: str, tmp_path: Path
) -> None:
    project = small_project.copy_to(tmp_path)
    running = [project.start("build", SMALL) for _ in range(2)]
    assert [finish(process) for process in running] == [digest, digest]
    assert list_unfinished(project) == []
    assert list_damaged(project) == []
    assert list_files(project) == list_files(undisturbed)


def test_two_targets(small_project: SmallProject, digest: str, devel_digest: str, tmp_path: Path) -> None:
    project = small_project.copy_to(tmp_path)
    running = [project.start("build", target_id) for target_id in (SMALL, DEVEL)]
    assert [finish(process) for process in running] == [digest, devel_digest]
    assert digest != devel_digest
    assert list_unfinished(project) == []
    assert list_damaged(project) == []


def test_two_projects_over_one_cache(small_project: SmallProject, digest: str, tmp_path: Path) -> None:
    first = small_project.copy_to(tmp_path / "first")
    second = replace(small_project.copy_to(tmp_path / "second", store=False), cache_path=first.cache_path)
    running = [project.start("build", SMALL) for project in (first, second)]
    assert [finish(process) for process in running] == [digest, digest]
    assert list_unfinished(first) == []


def test_downloads_are_shared_too(small_project: SmallProject, digest: str, tmp_path: Path) -> None:
    project = small_project.copy_to(tmp_path, store=False)
    running = [project.start("build", SMALL) for _ in range(2)]
    assert [finish(process) for process in running] == [digest, digest]
    assert not list(project.cache_path.rglob("*.part"))


def test_one_is_killed_while_the_other_builds(small_project: SmallProject, digest: str, tmp_path: Path) -> None:
    """What the dead one left must not be taken for the living one's, nor the other way round."""
    chance = random.Random(5)  # noqa: S311  # moments, no secrets
    for number in range(4):
        project = small_project.copy_to(tmp_path / str(number))
        living, doomed = project.start("build", SMALL), project.start("build", SMALL)
        time.sleep(chance.uniform(1, 6))
        with doomed:
            doomed.kill()
        assert finish(living) == digest
        assert project.build() == digest
        assert list_unfinished(project) == []
        assert list_damaged(project) == []
