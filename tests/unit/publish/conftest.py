"""A small project, and the registry in memory that it publishes to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from publish.project import Project, make_project

from registry_server import RegistryServer


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer(has_referrers=True) as server:
        yield server


@pytest.fixture
def project(server: RegistryServer, tmp_path: Path) -> Project:
    return make_project(tmp_path / "project", server.host)
