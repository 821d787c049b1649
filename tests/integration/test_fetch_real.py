"""The machine's own archives: a deb that its apt knows and a wheel that its index lists, fetched as a build would."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest

from rockiln.artifact import Artifact
from rockiln.console import Console
from rockiln.download.client import open_client
from rockiln.download.patience import Patience
from rockiln.errors import GoneError
from rockiln.fetch import fetch_artifacts
from rockiln.matrix import Matrix, Source
from rockiln.resolve.hosts import source_urls
from rockiln.store import Store

pytestmark = pytest.mark.network

DISTRIBUTION = "debian"
SOURCES = {
    "archive": Source(name="archive", kind="debian-archive", distribution=DISTRIBUTION),
    "wheels": Source(name="wheels", kind="wheel-index"),
}
MATRIX = Matrix(path=Path("/project/matrix.toml"), targets=(), sources=SOURCES, mirrors={})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def fetch(artifact: Artifact, store: Store) -> None:
    fetch_artifacts([artifact], MATRIX, store, os.environ, 2, Console(None))


def find_deb(package: str) -> Artifact:
    """What apt would download now."""
    said = subprocess.run(
        ["apt-get", "--print-uris", "download", package], capture_output=True, text=True, check=False
    ).stdout
    match = re.search(rf"'\S+/{DISTRIBUTION}/(\S+)' (\S+)_(\S+)_(\S+)\.deb (\d+) SHA256:(\S+)", said)
    if not match:
        pytest.skip(f"this machine's apt knows no {package}: its lists are empty, or it is not {DISTRIBUTION}'s")
    path, name, version, architecture, size, sha256 = match.groups()
    return Artifact(
        kind="deb", name=name, version=version, architecture=architecture, source="archive", path=unquote(path),
        sha256=sha256, size_bytes=int(size),
    )  # fmt: skip


def find_wheel(project: str) -> Artifact:
    """The last wheel that the index lists."""
    from pypi_simple import ProjectPage

    with open_client(os.environ, Patience(), 1) as client:
        page_url = f"{source_urls(SOURCES['wheels'], MATRIX, os.environ)[0]}/{project}/"
        page = client.get(page_url, headers={"Accept": "text/html"})
        wheels = [
            file
            for file in ProjectPage.from_html(project, page.content, str(page.url)).packages
            if file.package_type == "wheel" and "sha256" in file.digests
        ]
        size = client.head(wheels[-1].url).headers["Content-Length"]
    return Artifact(
        kind="wheel", name=project, version=wheels[-1].version or "", architecture="any", source="wheels",
        path=wheels[-1].filename, sha256=wheels[-1].digests["sha256"], size_bytes=int(size),
    )  # fmt: skip


@pytest.mark.parametrize("package", ["bash", "libstdc++6"])
def test_deb_of_the_machines_own_archive_arrives(store: Store, package: str) -> None:
    artifact = find_deb(package)
    fetch(artifact, store)
    store.check(artifact)


def test_wheel_of_the_machines_own_index_arrives(store: Store) -> None:
    artifact = find_wheel("packaging")
    fetch(artifact, store)
    store.check(artifact)


def test_deb_that_the_archive_does_not_have_is_gone(store: Store) -> None:
    artifact = Artifact(
        kind="deb", name="bash", version="0.1-1", architecture="amd64", source="archive",
        path="pool/main/b/bash/bash_0.1-1_amd64.deb", sha256="0" * 64, size_bytes=1,
    )  # fmt: skip
    with pytest.raises(GoneError, match=r"bash_0\.1-1_amd64\.deb"):
        fetch(artifact, store)
