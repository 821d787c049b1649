"""The small project and what it gives undisturbed, once a session; a folder and a browser for one module."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from small_project import DEVEL, SMALL, SmallProject, make_small_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """Locked and fetched, never built: tests build copies of it."""
    return make_small_project(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def undisturbed(small_project: SmallProject, tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A copy in which the first target was built, with nothing going wrong."""
    project = small_project.copy_to(tmp_path_factory.mktemp("undisturbed"))
    project.build()
    return project


@pytest.fixture(scope="session")
def digest(undisturbed: SmallProject) -> str:
    """Of the first target."""
    return undisturbed.build(SMALL)


@pytest.fixture(scope="session")
def devel_digest(small_project: SmallProject, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the second target."""
    return small_project.copy_to(tmp_path_factory.mktemp("devel")).build(DEVEL)


@pytest.fixture(scope="module")
def module_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that goes when its module's tests are over; those of a whole run would be ten gigabytes."""
    path = tmp_path_factory.mktemp("module")
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield launched
        launched.close()
