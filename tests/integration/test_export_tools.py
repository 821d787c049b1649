"""Exported files by the programs that read them: the devcontainer CLI, gitlab-ci-local with its schema and its shell.

Both come from npm, so they run by night: ROCKILN_NIGHTLY=1.
"""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from real_registry import run_registry
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference
from small_project import SMALL, SmallProject
from smokable_project import make_smokable

pytestmark = [
    pytest.mark.network,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("ROCKILN_NIGHTLY"), reason="programs from npm: ROCKILN_NIGHTLY=1 runs it"),
    pytest.mark.skipif(not shutil.which("npm"), reason="no npm is here: apt-get install npm"),
    pytest.mark.skipif(not shutil.which("rsync"), reason="gitlab-ci-local copies by it: apt-get install rsync"),
]
ROOT = Path(__file__).parents[2]
PACKAGES = ("@devcontainers/cli@0.89.0", "gitlab-ci-local@4.61.1")  # the latter's newest for Node 20
GPU_ROW, CPU_ROW = "jax-0.6.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx942+gfx950", "jax-0.6.2-cpu-py3.11-debian-12"
IMAGE = f"registry.example/you/jax@sha256:{'ab' * 32}"
ROW_TAG = "cpu-py3.11-1.0-debian12-runtime"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("npm")
    subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), *PACKAGES], check=True)
    return folder / "node_modules/.bin"


def run(*argv: object, folder: Path, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        list(map(str, argv)), cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done


@pytest.mark.parametrize("row", [GPU_ROW, CPU_ROW])
def test_devcontainer_cli_reads_what_was_written(programs: Path, tmp_path: Path, row: str) -> None:
    project = SmallProject(path=ROOT, cache_path=tmp_path / "cache")
    done = project.run("export", "devcontainer", row, "--image", IMAGE, "--group", "44", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    path = tmp_path / ".devcontainer" / row / "devcontainer.json"
    words = ("read-configuration", "--workspace-folder", ".", "--config", path)
    found = json.loads(run(programs / "devcontainer", *words, folder=tmp_path).stdout)["configuration"]
    written = json.loads(path.read_bytes())
    assert {name: found[name] for name in written} == written
    assert found.keys() - written.keys() == {"configFilePath"}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    with run_registry(tmp_path / "registry") as host:
        yield host


@pytest.mark.registry
@pytest.mark.userns
def test_gitlab_pipeline_ends_with_a_tag(
    programs: Path, small_project: SmallProject, host: str, tmp_path: Path
) -> None:
    """Its schema, then its jobs one after another in this machine's shell; what a job leaves goes to the next."""
    project = make_smokable(small_project, tmp_path)
    install = f"--no-deps {ROOT}"
    words = ("export", "gitlab", SMALL, "--to", f"{host}/you/{{framework}}", "--install", install, "--unsigned")
    words += ("--cache-repository", f"{host}/you/cache", "--output", str(project.path))
    assert project.run(*words).returncode == 0
    git = ("git", "-c", "user.name=Test", "-c", "user.email=test@example.org")
    for command in (("init", "--quiet", "--initial-branch=main"), ("add", "."), ("commit", "--quiet", "-m", "all")):
        run(*git, *command, folder=project.path)
    run("git", "remote", "add", "origin", "git@gitlab.example.com:you/images.git", folder=project.path)
    kept = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "UV_")) or name == "PATH"}
    environ = kept | {
        "HOME": str(tmp_path), "ROCKILN_CACHE": str(project.cache_path),
        "PYTHONPATH": os.pathsep.join(site.getsitepackages()),
    }  # fmt: skip
    done = run(programs / "gitlab-ci-local", "--no-color", folder=project.path, environ=environ)
    assert "json schema validated" in done.stderr + done.stdout
    with open_repository(parse_reference(f"{host}/you/jax"), {}) as repository:
        assert ROW_TAG in repository.list_tags()
    with open_repository(parse_reference(f"{host}/you/cache"), {}) as repository:
        assert all(tag.startswith("layer-") for tag in repository.list_tags())
        assert repository.list_tags()
